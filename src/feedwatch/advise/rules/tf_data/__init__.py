"""Rules about tf.data pipelines."""
