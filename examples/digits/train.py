#!/usr/bin/env python3
"""Trains the digits classifier and writes everything in this folder that is not source.

  python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
  VENV/bin/python train.py

The data are the 1797 handwritten digits of the UCI machine learning repository ("Optical Recognition of Handwritten
Digits"), 8x8 pixels of 0 to 16, as scikit-learn ships them: nothing is downloaded. One image in five is held out,
the same number of every digit; no held-out image is seen in training or in quantization.

Prints what both files score on the held-out images.
Writes  digits_f32.tflite, digits_int8.tflite              the same weights, as floats and as 8-bit integers
        digits_{f32,int8}.{inputs,expected}.npz            CALLS held-out images, and what LiteRT's reference kernels answer
        images.h                                           the same images and their labels for the C programs
"""
import os
import pathlib
import tempfile

os.environ.setdefault('CUDA_VISIBLE_DEVICES', '')
os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '2')

import numpy as np
import tensorflow as tf
from ai_edge_litert import interpreter as litert
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = pathlib.Path(__file__).resolve().parent
SEED = 20
EPOCHS = 150
BATCH = 32
CALLS = 20          # images with recorded answers: two of every digit, the least certain right answers


def data():
    """(training images, their labels, held-out images, their labels, held-out pixels as stored, 0 to 16)."""
    digits = load_digits()
    pixels = digits.images.astype(np.uint8)
    x = (pixels / np.float32(16)).astype(np.float32)[..., None]
    index = np.arange(len(x))
    train, test = train_test_split(index, test_size=0.2, random_state=SEED, stratify=digits.target)
    return x[train], digits.target[train], x[test], digits.target[test], pixels[test]


def network():
    """Two depthwise-separable blocks on one convolution: what a classifier on a microcontroller looks like."""
    layers = tf.keras.layers

    def convolution(layer):
        return [layer, layers.BatchNormalization(), layers.ReLU()]

    return tf.keras.Sequential([
        tf.keras.Input((8, 8, 1)),
        *convolution(layers.Conv2D(16, 3, padding='same', use_bias=False)),
        *convolution(layers.DepthwiseConv2D(3, padding='same', use_bias=False)),
        *convolution(layers.Conv2D(32, 1, use_bias=False)),
        layers.MaxPool2D(2),
        *convolution(layers.DepthwiseConv2D(3, padding='same', use_bias=False)),
        *convolution(layers.Conv2D(32, 1, use_bias=False)),
        layers.MaxPool2D(2),
        layers.Flatten(),
        layers.Dropout(0.3),
        layers.Dense(10, activation='softmax'),
    ])


def shifted(x, rng):
    """Every image moved by -1, 0 or 1 pixels each way, zeros following."""
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    dy, dx = rng.integers(0, 3, (2, len(x)))
    return np.stack([p[a:a + 8, b:b + 8] for p, a, b in zip(padded, dy, dx)])


def train(model, x, y):
    """Adam, a cosine schedule, images shifted anew each epoch; smoothed labels keep the answers from saturating."""
    rng = np.random.default_rng(SEED)
    steps = EPOCHS * -(-len(x) // BATCH)
    model.compile(optimizer=tf.keras.optimizers.Adam(tf.keras.optimizers.schedules.CosineDecay(4e-3, steps)),
                  loss=tf.keras.losses.CategoricalCrossentropy(label_smoothing=0.1), metrics=['accuracy'])
    wanted = tf.keras.utils.to_categorical(y, 10)
    for epoch in range(EPOCHS):
        history = model.fit(shifted(x, rng), wanted, batch_size=BATCH, verbose=0)
        if epoch % 30 == 29:
            print(f'epoch {epoch + 1}: ' + ', '.join(f'{k} {v[-1]:.4f}' for k, v in history.history.items()))


def convert(model, calibration):
    """The float file, and the one whose every tensor is int8, input and output included, weights scaled per channel."""
    with tempfile.TemporaryDirectory() as folder:
        archive = tf.keras.export.ExportArchive()
        archive.track(model)
        archive.add_endpoint('serving_default', lambda image: model(image, training=False),
                             [tf.TensorSpec([1, 8, 8, 1], tf.float32, name='image')])
        archive.write_out(folder, verbose=False)
        yield 'f32', tf.lite.TFLiteConverter.from_saved_model(folder).convert()

        converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([image[None]] for image in calibration)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        yield 'int8', converter.convert()


class Reference:
    """A .tflite file run by LiteRT's reference kernels."""

    def __init__(self, path):
        self.interpreter = litert.Interpreter(model_path=str(path), num_threads=1,
                                              experimental_op_resolver_type=litert.OpResolverType.BUILTIN_REF)
        self.interpreter.allocate_tensors()
        self.input = self.interpreter.get_input_details()[0]
        self.output = self.interpreter.get_output_details()[0]

    def encode(self, image):
        """An image of floats as the model's input tensor."""
        if self.input['dtype'] == np.float32:
            return image[None]
        scale, zero_point = self.input['quantization']
        return np.clip(np.round(image[None] / scale) + zero_point, -128, 127).astype(np.int8)

    def __call__(self, value):
        self.interpreter.set_tensor(self.input['index'], value)
        self.interpreter.invoke()
        return np.array(self.interpreter.get_tensor(self.output['index']))


def rows(values, width):
    """C initialisers: the values, `width` a line."""
    return ',\n      '.join(', '.join(f'{v:{len(str(values.max()))}}' for v in row) for row in values.reshape(-1, width))


def header(pixels, labels, answers):
    """images.h: pixels as they are in the data set, so that one header serves both models."""
    def table(arrays, width):
        return [f'    {{ {rows(array, width)} }},' for array in arrays] + ['};', '']

    return '\n'.join([
        '/* Held-out test images of the UCI digits, those of every digit that the models are least sure of and still right; written by train.py. */',
        '#ifndef DIGITS_IMAGES_H', '#define DIGITS_IMAGES_H', '', '#include <stdint.h>', '',
        f'enum {{ IMAGES = {len(pixels)}, IMAGE_PIXELS = 64, DIGITS = 10 }};', '',
        '/* What each image shows. */',
        f'static const uint8_t image_labels[IMAGES] = {{ {", ".join(map(str, labels))} }};', '',
        '/* 8 rows of 8 pixels, 0 (paper) to 16 (ink). The models take pixel / 16. */',
        'static const uint8_t images[IMAGES][IMAGE_PIXELS] = {', *table(pixels, 8),
        "/* What LiteRT's reference kernels answer with digits_int8.tflite. */",
        'static const int8_t image_answers[IMAGES][DIGITS] = {', *table(answers, 10),
        '#endif', ''])


def main():
    tf.keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    train_x, train_y, test_x, test_y, test_pixels = data()
    model = network()
    train(model, train_x, train_y)

    inputs, answers, right = {}, {}, np.ones(len(test_x), bool)
    for kind, content in convert(model, train_x[:500]):
        path = HERE / f'digits_{kind}.tflite'
        path.write_bytes(content)
        run = Reference(path)
        inputs[kind] = [run.encode(x) for x in test_x]
        answers[kind] = [run(value) for value in inputs[kind]]
        good = np.array([answer.argmax() for answer in answers[kind]]) == test_y
        right &= good
        print(f'{path.name}: {len(content)} bytes, {good.sum()} of {len(good)} held-out images right, {good.mean():.2%}')

    # The least certain of the right answers: where nearly every output is 0 or 1, little would show an error.
    certainty = np.array([answer.max() for answer in answers['f32']])
    order = np.argsort(np.where(right, certainty, np.inf), kind='stable')
    sample = np.concatenate([order[test_y[order] == digit][:CALLS // 10] for digit in range(10)])
    for kind in inputs:
        for name, key, values in (('inputs', 'in', inputs), ('expected', 'out', answers)):
            np.savez_compressed(HERE / f'digits_{kind}.{name}.npz',
                                **{f'{key}{call}_0': values[kind][i] for call, i in enumerate(sample)})
    text = header(test_pixels[sample], test_y[sample], np.concatenate([answers['int8'][i] for i in sample]))
    (HERE / 'images.h').write_text(text)


main()
