#compdef sprintlog
_sprintlog() {
    local -a found words_found
    local line word
    found=("${(@f)$(_SPRINTLOG_COMPLETE=zsh COMP_LINE="${(j: :)words[1,CURRENT]}" \
        "${words[1]}" 2>/dev/null)}")
    case "${found[1]}" in
        :files) _files; return ;;
        :folders) _files -/; return ;;
        '') return 1 ;;
    esac
    for line in "${found[@]}"; do
        word="${line%%$'\t'*}"
        words_found+=("${word//:/\\:}${${line#"$word"}/$'\t'/:}")
    done
    _describe -V sprintlog words_found
}
if [[ "${zsh_eval_context[-1]}" == loadautofunc ]]; then
    _sprintlog "$@"
else
    compdef _sprintlog sprintlog
fi
