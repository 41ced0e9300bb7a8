"""API keys: made, shown once, recognised, replaced and revoked."""
