"""The run loop: lease, download, train, deliver, and again, over every kind of interruption."""
