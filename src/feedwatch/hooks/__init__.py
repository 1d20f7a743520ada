"""The only code that imports a framework: takes marks, and reads the user's pipeline into plain facts."""
