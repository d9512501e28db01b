function __sprintlog_complete
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
