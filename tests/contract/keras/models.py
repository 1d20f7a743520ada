"""Small models, made anew for each run from the same seed."""

import keras


def dense(width=8, **compiled):
    model = keras.Sequential(
        [
            keras.Input((width,)),
            keras.layers.Dense(16, activation="relu"),
            keras.layers.Dropout(0.3),
            keras.layers.Dense(1),
        ]
    )
    model.compile("adam", "mse", **compiled)
    return model


def classifier(**compiled):
    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16), keras.layers.Dense(3, activation="softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy", **compiled)
    return model


def two_inputs():
    left, right = keras.Input((8,), name="left"), keras.Input((4,), name="right")
    out = keras.layers.Dense(1)(keras.layers.Concatenate()([left, right]))
    model = keras.Model({"left": left, "right": right}, out)
    model.compile("sgd", "mse")
    return model


class OwnLoss(keras.Model):
    """No target: the model adds its own loss."""

    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(8)

    def call(self, x):
        y = self.inner(x)
        self.add_loss(keras.ops.mean((y - x) ** 2))
        return y


def own_loss():
    model = OwnLoss()
    model.compile("sgd")
    return model


class RaggedSum(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(1)

    def call(self, x):
        return self.inner(x.to_tensor(shape=[None, 8]))


def ragged():
    model = RaggedSum()
    model.compile("sgd", "mse")
    return model


def own_train_step():
    import tensorflow as tf

    class OwnStep(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = keras.ops.mean((self(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, self.trainable_weights)
            self.optimizer.apply(gradients, self.trainable_weights)
            return {"loss": loss}

    inputs = keras.Input((8,))
    model = OwnStep(inputs, keras.layers.Dense(1)(inputs))
    model.compile("sgd")
    return model
