"""Dialogues that this project makes up: see grammar.py for how, mixer.py for what goes into a training run."""
