"""One file per subcommand: parse words, call a room, print, choose an exit code."""
