"""What touches the machine: folders, addresses, memory, plugins, files that outlast a power cut."""
