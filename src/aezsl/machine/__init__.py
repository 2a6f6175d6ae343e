"""What touches the machine: files, processes, threads, the screen."""
