"""Trains the wake word of this example on made-up sounds, and writes the model with recorded answers.

    pip install tensorflow==2.19 && python3 train.py

A sound is a row of frames of 16 bands. The word is a tone that rises by two bands a frame, six frames long, in noise. The model sees one frame a call; it
keeps the frames before in two variables, as streaming models do.
"""

import pathlib

import numpy as np
import tensorflow as tf

BANDS, CHANNELS, WORD = 16, 12, 6
generator = np.random.default_rng(7)
tf.keras.utils.set_random_seed(7)


def sounds(count: int, frames: int):
    """Noise, falling tones, steady tones and words. The answer is 1 at the last frame of a word."""
    x = generator.normal(0, 0.25, (count, frames, BANDS)).astype(np.float32)
    y = np.zeros((count, frames), np.float32)
    for row in range(count):
        for start in range(0, frames - WORD, WORD + 3):
            kind, first = generator.integers(4), generator.integers(4)
            for step in range(WORD):
                band = {0: first + 2 * step, 1: first + 2 * (WORD - 1 - step), 2: first + 3, 3: None}[int(kind)]
                if band is not None:
                    x[row, start + step, band] += 1.5
            y[row, start + WORD - 1] = kind == 0
    return np.clip(x, -2, 2), y


class Streaming(tf.Module):
    """Two convolutions over time, of three and four frames, and a dense layer: the frames before the current one are in variables."""

    def __init__(self, weights):
        super().__init__()
        self.weights = [tf.constant(w) for w in weights]
        self.frames = tf.Variable(tf.zeros([1, 2, 1, BANDS]))
        self.features = tf.Variable(tf.zeros([1, 3, 1, CHANNELS]))

    @tf.function(input_signature=[tf.TensorSpec([1, 1, 1, BANDS])])
    def step(self, frame):
        w1, b1, w2, b2, w3, b3 = self.weights
        frames = tf.concat([self.frames, frame], 1)
        self.frames.assign(frames[:, 1:])
        feature = tf.nn.relu(tf.nn.conv2d(frames, w1[:, None], 1, "VALID") + b1)
        features = tf.concat([self.features, feature], 1)
        self.features.assign(features[:, 1:])
        hidden = tf.nn.relu(tf.nn.conv2d(features, w2[:, None], 1, "VALID") + b2)
        return tf.sigmoid(tf.matmul(tf.reshape(hidden, [1, CHANNELS]), w3) + b3)


def trained():
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Input((None, BANDS)),
        layers.Conv1D(CHANNELS, 3, padding="causal", activation="relu"),
        layers.Conv1D(CHANNELS, 4, padding="causal", activation="relu"),
        layers.Dense(1, activation="sigmoid"),
    ])
    x, y = sounds(2000, 60)
    model.compile("adam", "binary_crossentropy")
    model.fit(x, y[..., None], epochs=12, batch_size=32, verbose=0)
    return [w.numpy() for w in model.weights]


def converted(streaming):
    converter = tf.lite.TFLiteConverter.from_concrete_functions([streaming.step.get_concrete_function()], streaming)
    x, _ = sounds(20, 60)
    converter.experimental_enable_resource_variables = True
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([frame[None, None, None]] for row in x for frame in row)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def answers(model: bytes, frames):
    """The answers of TFLite's reference kernels, frame by frame, in the model's integers."""
    resolver = tf.lite.experimental.OpResolverType.BUILTIN_REF
    interpreter = tf.lite.Interpreter(model_content=model, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    taken, given = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    scale, zero_point = taken["quantization"]
    quantized = np.clip(np.round(frames / scale) + zero_point, -128, 127).astype(np.int8)
    found = []
    for frame in quantized:
        interpreter.set_tensor(taken["index"], frame.reshape(taken["shape"]))
        interpreter.invoke()
        found.append(int(interpreter.get_tensor(given["index"]).item()))
    return quantized, found


def header(frames, found, words) -> str:
    line = lambda numbers: ", ".join(str(int(number)) for number in numbers)
    rows = "".join(f"    {{ {line(frame)} }},\n" for frame in frames)
    return (
        "/* Sixty frames of a sound, the answers of TFLite's reference kernels, and where words end. Made by train.py. */\n"
        f"enum {{ FRAMES = {len(frames)}, BANDS = {BANDS} }};\n"
        f"static const int8_t frames[FRAMES][BANDS] = {{\n{rows}}};\n"
        f"static const int8_t answers[FRAMES] = {{ {line(found)} }};\n"
        f"static const uint8_t words[FRAMES] = {{ {line(words)} }};\n"
    )


here = pathlib.Path(__file__).parent
model = converted(Streaming(trained()))
(here / "wake_word_int8.tflite").write_bytes(model)
frames, words = sounds(1, 60)
quantized, found = answers(model, frames[0])
(here / "sound.h").write_text(header(quantized, found, words[0]))
print("words end at", np.nonzero(words[0])[0], "and are found at", np.nonzero(np.array(found) > 0)[0])
