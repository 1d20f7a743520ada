"""Small trainings with one known cause each: does the first finding name it, and is the gain as predicted?"""
