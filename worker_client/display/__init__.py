"""What the person sees: typed events, shown on a terminal, as plain lines, or as JSON lines."""
