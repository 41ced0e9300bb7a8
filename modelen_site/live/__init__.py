"""Live pages: sockets that are told when what they watch has changed.

What can be watched are runs, coordinators and the directory, which do not know each other; each
says in a module of its own (``coordination.live.watched``, ``portal.live``,
``portal.directory.watched``) how it is found, read and told.
"""
