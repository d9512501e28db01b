"""`sprintlog completion`: the completion script of a shell."""

import click

from .. import typed
from ..output import print_bytes

BASH = r"""_sprintlog() {
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
"""
ZSH = r"""#compdef sprintlog
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
"""
FISH = r"""function __sprintlog_complete
    set -l line (commandline -cp)
    set -l found (env _SPRINTLOG_COMPLETE=fish COMP_LINE="$line" sprintlog 2>/dev/null)
    switch "$found[1]"
        case ':files'
            __fish_complete_path (commandline -ct)
        case ':folders'
            __fish_complete_directories (commandline -ct)
        case '*'
            string join \n -- $found
    end
end
complete --no-files --keep-order --command sprintlog --arguments '(__sprintlog_complete)'
"""
SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


@typed.command("completion", epilog='Example: eval "$(sprintlog completion bash)"')
@click.argument("shell", type=typed.Choice(list(SCRIPTS)))
def command(shell: str) -> None:
    """Print the completion script of a shell: for commands, options and values.

    Values are sprints, addresses, points, iterations, requests and event types of the
    log that the folder belongs to; and files.
    """
    print_bytes(SCRIPTS[shell].encode())
