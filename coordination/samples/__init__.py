"""What snapshots write: ``prompts`` says what they are asked, ``take`` asks them, ``read`` shows
the newest."""
