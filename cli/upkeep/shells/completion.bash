_sprintlog() {
    local IFS=$'\n'
    COMPREPLY=($(_SPRINTLOG_COMPLETE=bash COMP_LINE="${COMP_LINE:0:COMP_POINT}" \
        COMP_WORDBREAKS="$COMP_WORDBREAKS" "$1" 2>/dev/null))
    case "${COMPREPLY[0]-}" in
        :files) COMPREPLY=(); compopt -o default ;;
        :folders) COMPREPLY=(); compopt -o dirnames ;;
    esac
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
    return 0
}
complete -o nosort -F _sprintlog sprintlog
