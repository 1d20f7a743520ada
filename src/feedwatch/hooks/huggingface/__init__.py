"""Hooks into Hugging Face's Trainer."""
