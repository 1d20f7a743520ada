"""The user's tf.data pipeline, read into plain facts, for every Keras backend."""
