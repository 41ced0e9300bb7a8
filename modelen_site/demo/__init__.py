"""``make demo``: the main job on this computer alone, from text to a trained adapter.

``python -m modelen_site.demo`` runs the story in ``story.py``; every other module is one step.
"""
