"""Makes the models of loops over run-time extents, with inputs and LiteRT's outputs at several extents.

  python make.py [NAME...]      (needs tensorflow and ai-edge-litert)
"""
import sys

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

L, F = tf.keras.layers, tf.float32
B = dict(bias_initializer=tf.keras.initializers.RandomUniform(-.5, .5, seed=2))


def spec(*shape):
    return tf.TensorSpec(shape, F)


def keras(*layers):
    return tf.lite.TFLiteConverter.from_keras_model(
        tf.keras.Sequential([tf.keras.Input((None, 8), batch_size=1), *layers]))


def function(call, *specs):
    return tf.lite.TFLiteConverter.from_concrete_functions([tf.function(call, input_signature=specs).get_concrete_function()])


def counted(count, body, *first, open=None):
    """The tensors after `count` rounds; `open` are shapes of those that change."""
    shapes = [tf.TensorShape([]), *(tf.TensorShape(s) for s in open)] if open else None
    return tf.while_loop(lambda i, *_: i < count, lambda i, *a: (i + 1, *body(i, *a)), [0, *first], shape_invariants=shapes)[1:]


def half(x):
    n = tf.shape(x)[0]
    lists = tf.TensorArray(F, size=(n + 1) // 2, element_shape=[4])
    return tf.while_loop(lambda i, t: i * 2 < n, lambda i, t: (i + 1, t.write(i, x[2 * i])), [0, lists])[1].stack()


def triangle(x):
    n = tf.shape(x)[0]
    lists = tf.TensorArray(F, size=n, element_shape=[])

    def row(i, t):
        total = tf.while_loop(lambda j, s: j <= i, lambda j, s: (j + 1, s + x[j] * x[i]), [0, 0.])[1]
        return i + 1, t.write(i, total)
    return tf.while_loop(lambda i, t: i < n, row, [0, lists])[1].stack()


def rnn_batch(x):
    w = tf.constant(np.random.default_rng(1).normal(size=(4, 5)).astype(np.float32) * .4)
    u = tf.constant(np.random.default_rng(2).normal(size=(5, 5)).astype(np.float32) * .4)
    step = lambda i, h: (tf.tanh(tf.matmul(tf.gather(x, i, axis=1), w) + tf.matmul(h, u)),)
    return counted(tf.shape(x)[1], step, tf.zeros([tf.shape(x)[0], 5]), open=[[None, 5]])[0]


def eos(x):
    step = lambda i, t: (i + 1, tf.concat([t, tf.cast(tf.argmax(x[i:i + 1], -1), tf.int32)], 0))
    count = tf.shape(x)[0]
    more = lambda i, t: tf.logical_and(i < count, t[-1] != 3)
    return tf.while_loop(more, step, [0, tf.constant([1])], shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])])[1]


def halve(x):
    def step(a):
        m = tf.shape(a)[0] // 2
        return (a[:m] + a[m:2 * m],)
    return tf.while_loop(lambda a: tf.shape(a)[0] > 1, step, [x], shape_invariants=[tf.TensorShape([None, 4])])[0]


def dtw(x, y):
    def row(i, before):
        def cell(j, now):
            value = tf.abs(x[i] - y[j]) + tf.minimum(tf.minimum(before[j + 1], now[-1]), before[j])
            return (tf.concat([now, [value]], 0),)
        return counted(tf.shape(y)[0], cell, tf.constant([1e3]), open=[[None]])
    first = tf.concat([[0.], tf.fill([tf.shape(y)[0]], 1e3)], 0)
    return counted(tf.shape(x)[0], row, first, open=[[None]])[0]


def fifo(x):
    def step(i, a):
        a = tf.concat([a[1:], x[i:i + 1]], 0)
        a.set_shape([3, 4])
        return (a,)
    return counted(tf.shape(x)[0], step, tf.zeros([3, 4]))[0]


def cond_body(x):
    step = lambda i, a: (tf.cond(tf.reduce_sum(x[i]) > 0., lambda: a * 0.5 + x[i], lambda: a - x * 0.1),)
    return counted(tf.shape(x)[0], step, x)[0]


def chosen(x):
    """The rows that begin with a positive number."""
    step = lambda i, a: (tf.cond(x[i, 0] > 0., lambda: tf.concat([a, x[i:i + 1]], 0), lambda: a),)
    return counted(tf.shape(x)[0], step, tf.zeros([1, 4]), open=[[None, 4]])[0]


def chosen_twice(x):
    """One row or two in each round, and none in some."""
    two = lambda i, a: tf.concat([a, x[i:i + 1], -x[i:i + 1]], 0)
    one = lambda i, a: tf.cond(x[i, 1] > 0., lambda: tf.concat([a, x[i:i + 1] * 2.], 0), lambda: a)
    step = lambda i, a: (tf.cond(x[i, 0] > 0., lambda: two(i, a), lambda: one(i, a)),)
    return counted(tf.shape(x)[0], step, tf.zeros([1, 4]), open=[[None, 4]])[0]


def grow_inside(dimension):
    """Rows that are appended, and a condition that reads the number of rounds from a shape."""
    def grow(x):
        step = lambda i, a: (i + 1, tf.concat([a, x[i:i + 1] * 2.], 0))
        shapes = [tf.TensorShape([]), tf.TensorShape([None, 4])]
        return tf.while_loop(lambda i, a: i < tf.shape(x)[dimension], step, [0, tf.zeros([1, 4])], shape_invariants=shapes)[1]
    return grow


MODELS = {
    'chosen': lambda: function(chosen, spec(None, 4)),
    'chosen_twice': lambda: function(chosen_twice, spec(None, 4)),
    'bi_concat': lambda: keras(L.Bidirectional(L.LSTM(4, return_sequences=True, **B))),
    'cond_body': lambda: function(cond_body, spec(None, 4)),
    'dtw': lambda: function(dtw, spec(None), spec(None)),
    'eos': lambda: function(eos, spec(None, 4)),
    'fifo': lambda: function(fifo, spec(None, 4)),
    'foldl': lambda: function(lambda x: tf.foldl(lambda a, e: a * 0.5 + e, x), spec(None, 4)),
    'grow': lambda: function(lambda x: counted(tf.shape(x)[0], lambda i, a: (tf.concat([a, x[i:i + 1] * 2.], 0),), tf.zeros([1, 4]),
                                               open=[[None, 4]])[0], spec(None, 4)),
    'grow_inside': lambda: function(grow_inside(0), spec(None, 4)),
    'grow_inside_behind': lambda: function(grow_inside(-2), spec(None, 4)),
    'gru_before': lambda: keras(L.GRU(5, reset_after=False, return_sequences=True, **B)),
    'halve': lambda: function(halve, spec(None, 4)),
    'lstm_seq_b1': lambda: keras(L.LSTM(6, return_sequences=True, **B)),
    'map_fn_two': lambda: function(lambda x, y: tf.map_fn(lambda t: tf.reduce_sum(t[0]) * t[1], (x, y), fn_output_signature=F),
                                   spec(None, 4), spec(None, 3)),
    'mask_lstm': lambda: keras(L.Masking(0.), L.LSTM(4, return_sequences=True, **B)),
    'nested_mapfold': lambda: function(lambda x: tf.map_fn(lambda r: tf.foldl(lambda a, e: a * 0.5 + e, r), x), spec(None, None)),
    'rnn_batch': lambda: function(rnn_batch, spec(None, None, 4)),
    'scan_pair': lambda: function(lambda x: tf.scan(lambda a, e: (a[0] + e, a[1] * 0.5 + tf.reduce_sum(e)), x,
                                                    initializer=(tf.zeros([4]), tf.zeros([]))), spec(None, 4)),
    'scatter_upd': lambda: function(lambda x: counted(tf.shape(x)[0], lambda i, a: (tf.tensor_scatter_nd_update(a, [[i]], [a[i] + 1.]),),
                                                      x)[0], spec(None)),
    'ta_half': lambda: function(half, spec(None, 4)),
    'triangle': lambda: function(triangle, spec(None)),
    'wl_rot': lambda: function(lambda x: counted(tf.shape(x)[0], lambda i, a: (tf.concat([a[1:], a[:1]], 0) * 0.9,), x)[0], spec(None, 4)),
}


def record(name, rng):
    inputs, outputs = {}, {}
    for call, extent in enumerate([9, 1, 4, 7]):
        model = Interpreter(f'{name}.tflite', experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
        for detail in model.get_input_details():
            shape = [int(n) for n in detail['shape']]
            for number, d in enumerate(d for d, n in enumerate(detail['shape_signature']) if n < 0):
                shape[d] = extent if number == 0 else max(1, extent - 1)
            model.resize_tensor_input(detail['index'], shape)
        model.allocate_tensors()
        for number, detail in enumerate(model.get_input_details()):
            value = rng.standard_normal(detail['shape']).astype(np.float32)
            if name.startswith('mask') and extent > 2:
                value[:, -1:] = 0
            model.set_tensor(detail['index'], value)
            inputs[f'in{call}_{number}'] = value
        model.invoke()
        outputs.update({f'out{call}_{n}': model.get_tensor(d['index']) for n, d in enumerate(model.get_output_details())})
    np.savez(f'{name}.inputs.npz', **inputs)
    np.savez(f'{name}.expected.npz', **outputs)


tf.keras.utils.set_random_seed(1)
for name in sys.argv[1:] or MODELS:
    make = MODELS[name]
    with open(f'{name}.tflite', 'wb') as file:
        file.write(make().convert())
    record(name, np.random.default_rng(5))
