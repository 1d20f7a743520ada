"""`make trials`: what a trial measures against the script really changed and retrained.

`workloads` are the scripts, `truth` retrains them, `drain` is the tuner that everybody writes, `score` compares.
"""
