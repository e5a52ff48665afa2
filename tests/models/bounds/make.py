"""Makes the models of this folder with TensorFlow, and records LiteRT's reference kernels on inputs of several extents.

Needs tensorflow and ai-edge-litert. The test bounds every dimension whose extent differs from call to call by its largest.
"""
import numpy as np
import tensorflow as tf
from ai_edge_litert import interpreter as lite

rng = np.random.default_rng(44)


def open_floats(*shape):
    return tf.TensorSpec(shape, tf.float32)


def convert(function, specs, element, samples):
    concrete = tf.function(function, input_signature=specs).get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete])
    if element is not None:
        sets, converter.optimizations = tf.lite.OpsSet, [tf.lite.Optimize.DEFAULT]
        wide = sets.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.representative_dataset = lambda: ([sample] for sample in samples)
        converter.target_spec.supported_ops = [wide if element == tf.int16 else sets.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = element
    return converter.convert()


def numbers(spec, shape, element):
    kind = np.dtype((element or spec.dtype).as_numpy_dtype)
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind == 'f':
        return rng.normal(size=shape).astype(kind)
    least, most = (np.iinfo(kind).min, np.iinfo(kind).max) if element else (0, 2)
    return rng.integers(least, most + 1, shape).astype(kind)


def boxes(count):
    corners = rng.uniform(0, 1, [count, 2])
    return np.concatenate([corners, corners + rng.uniform(.2, .6, [count, 2])], -1).astype('f')


def record(name, function, specs, calls, element=None):
    """`calls` hold the shapes of all inputs of a call, or the inputs."""
    samples = [rng.normal(size=[n or 12 for n in specs[0].shape]).astype('f') for _ in range(8)] if element else None
    model = convert(function, specs, element, samples)
    open(f'{name}.tflite', 'wb').write(model)
    inputs, outputs = {}, {}
    for c, call in enumerate(calls):
        feeds = [x if isinstance(x, np.ndarray) else numbers(spec, x, element) for spec, x in zip(specs, call)]
        it = lite.Interpreter(model_content=model, experimental_op_resolver_type=lite.OpResolverType.BUILTIN_REF)
        for detail, feed in zip(it.get_input_details(), feeds):
            it.resize_tensor_input(detail['index'], feed.shape)
        it.allocate_tensors()
        for detail, feed in zip(it.get_input_details(), feeds):
            it.set_tensor(detail['index'], feed)
        it.invoke()
        inputs |= {f'in{c}_{i}': feed for i, feed in enumerate(feeds)}
        outputs |= {f'out{c}_{i}': np.array(it.get_tensor(d['index'])) for i, d in enumerate(it.get_output_details())}
    np.savez_compressed(f'{name}.inputs.npz', **inputs)
    np.savez_compressed(f'{name}.expected.npz', **outputs)


def means(x):
    return [tf.reduce_mean(x, axes, keep) for axes, keep in [([1, 2], False), ([1], True), ([2, 3], False), ([1, 2, 3], True)]]


images = [[[1, h, w, 3]] for h, w in [(5, 7), (1, 1), (16, 9), (32, 33)]]
for kind in [tf.int8, tf.uint8, tf.int16]:
    record(f'means_{kind.name}', means, [open_floats(1, None, None, 3)], images, kind)
record('means_int32', lambda x: tf.reduce_mean(x, [0]), [tf.TensorSpec([None, 3], tf.int32)], [[[n, 3]] for n in (4, 1, 9)])

rows = [[[n, 4]] for n in (6, 1, 11, 2)]
record('stft', lambda x: tf.abs(tf.signal.stft(x, 16, 8, 16)), [open_floats(3, None)], [[[3, n]] for n in (40, 16, 200)])
record('rfft2d', lambda x: tf.abs(tf.signal.rfft2d(x, [8, 16])), [open_floats(2, None, None)],
       [[[2, h, w]] for h, w in [(8, 16), (5, 7), (12, 30)]])
record('rfft2d_one_row', lambda x: tf.abs(tf.signal.rfft2d(x, [1, 8])), [open_floats(None, None, 8)], [[[2, 3, 8]], [[1, 1, 8]]])
record('where', lambda x: [tf.where(x > 0), tf.boolean_mask(x, x > 0)], [open_floats(None, None)],
       [[[a, b]] for a, b in [(4, 6), (1, 7), (9, 2)]])
record('masks', lambda x, m: [tf.boolean_mask(x, m), tf.reduce_sum(tf.boolean_mask(x, m), 0)],
       [open_floats(None, 4), tf.TensorSpec([None], tf.bool)], [[[n, 4], [n]] for n in (6, 1, 13)])


def of_masked(x):
    some = tf.boolean_mask(x, x > -1)
    places = tf.where(x > -1)
    placed = tf.scatter_nd(places, some, tf.shape(x, out_type=tf.int64))
    return [tf.sort(some), tf.cumsum(some), tf.argmax(some), tf.concat([some, x], 0), tf.reverse(some, [0]), tf.nn.softmax(some), placed]


record('of_masked', of_masked, [open_floats(None)], [[[n]] for n in (8, 20, 3)])
record('unique', lambda x: tf.unique(x), [tf.TensorSpec([None], tf.int32)], [[[n]] for n in (7, 1, 12)])
record('unique_masked', lambda x: tf.unique(tf.boolean_mask(x, x > 0))[0], [tf.TensorSpec([None], tf.int32)], [[[n]] for n in (7, 12)])
suppressed = [[boxes(n), rng.uniform(0, 1, [n]).astype('f')] for n in (12, 1, 20)]
record('suppressed', lambda b, s: tf.gather(b, tf.image.non_max_suppression(b, s, 6, 0.5, 0.1)), [open_floats(None, 4), open_floats(None)],
       suppressed)
record('suppressed_softly', lambda b, s: tf.image.non_max_suppression_with_scores(b, s, tf.shape(s)[0], 0.5, 0.1, 0.5),
       [open_floats(None, 4), open_floats(None)], suppressed)
record('order', lambda x: [tf.math.top_k(x, 3).values, tf.sort(x, 0), tf.argmax(x, 0), tf.argmin(x, 1), tf.cumsum(x, 0)],
       [open_floats(None, 4)], rows)
record('joins', lambda x, y: [tf.concat([x, y, x], 0), tf.stack([x, x[::-1]], 1), tf.tile(y, [2, 3]), tf.concat([x[-1:], x[:-1]], 0),
                              *tf.split(x, [1, -1], 0)],
       [open_floats(None, 4), open_floats(None, 4)], [[[n, 4], [m, 4]] for n, m in [(6, 2), (2, 5), (9, 9)]])
record('halves', lambda x: tf.split(x, 2, 0), [open_floats(None, 4)], [[[n, 4]] for n in (2, 6, 10)])
record('pairs', lambda x: tf.reshape(x, [-1, 1, 4]) * 2., [open_floats(None)], [[[n]] for n in (4, 20, 8)])
record('segments', lambda x, i: [tf.math.unsorted_segment_max(x, i, 3), tf.scatter_nd(tf.reshape(tf.range(tf.shape(x)[0]), [-1, 1]) * 2,
                                                                                     x, [2 * tf.shape(x)[0], 4])],
       [open_floats(None, 4), tf.TensorSpec([None], tf.int32)], [[[n, 4], [n]] for n in (6, 1, 9)])
record('sequences', lambda x, n: tf.reverse_sequence(x, n, 1, 0), [open_floats(None, None, 3), tf.TensorSpec([None], tf.int32)],
       [[[a, b, 3], [a]] for a, b in [(4, 6), (1, 2), (5, 3)]])
record('diagonals', lambda x: [tf.linalg.diag(x[:, 0]), tf.linalg.set_diag(x, x[:, 1] * 2.)], [open_floats(None, 4, 4)],
       [[[n, 4, 4]] for n in (6, 1, 11)])
record('broadcast', lambda x, y: tf.broadcast_to(x, tf.broadcast_dynamic_shape(tf.shape(x), tf.shape(y))),
       [open_floats(None, 1), open_floats(1, None)], [[[n, 1], [1, m]] for n, m in [(4, 6), (2, 9), (7, 2)]])
record('buckets', lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-1., 0., 1.]), [open_floats(None, 4)], rows)
volume = rng.normal(size=(2, 3, 3, 2, 4)).astype('f')
record('conv3d', lambda x: tf.nn.conv3d(x, volume, [1, 1, 2, 1, 1], 'SAME'), [open_floats(1, None, 8, None, 2)],
       [[[1, d, 8, w, 2]] for d, w in [(4, 6), (1, 9), (7, 2)]])


def sizes_of_branches(x, y):
    positive = tf.reduce_sum(x) > 0
    halved = tf.cond(positive, lambda: x[:tf.shape(x)[0] // 2 + 1], lambda: x * 2.)
    masked = tf.cond(positive, lambda: tf.boolean_mask(x, x[:, 0] > -9.), lambda: tf.concat([x, y], 0))
    square = tf.cond(positive, lambda: tf.matmul(x, y, transpose_b=True), lambda: x)
    return [halved, masked, tf.reduce_sum(halved, 0), tf.nn.softmax(masked), square, tf.shape(halved)]


signed = [[np.abs(rng.normal(size=[n, 4])).astype('f') * sign, rng.normal(size=[m, 4]).astype('f')]
          for n, m in [(6, 2), (1, 5), (9, 9)] for sign in (1, -1)]
record('branches', sizes_of_branches, [open_floats(None, 4), open_floats(None, 4)], signed)


def branches_of_a_loop(x):
    def body(i, rows):
        return i + 1, tf.cond(tf.equal(i % 2, 0), lambda: tf.concat([rows, x[:1]], 0), lambda: rows[1:])
    carried = (tf.TensorShape([]), tf.TensorShape([None, 4]))
    return tf.while_loop(lambda i, _: i < 5, body, (0, x), shape_invariants=carried)[1]


record('branches_in_a_loop', branches_of_a_loop, [open_floats(None, 4)], rows)
several = [(6, 2), (1, 5), (9, 9)]
record('rows_by_rows', lambda x, y: [tf.matmul(x, y, transpose_b=True), tf.matmul(tf.boolean_mask(x, x[:, 0] > 0), y, transpose_b=True),
                                     tf.matmul(x, x, transpose_a=True, transpose_b=False)],
       [open_floats(None, 4), open_floats(None, 4)], [[[n, 4], [m, 4]] for n, m in several])
record('by_depth', lambda x, y: tf.matmul(x, y, transpose_b=True), [open_floats(3, None), open_floats(5, None)],
       [[[3, n], [5, n]] for n in (4, 1, 17)])
heads = rng.normal(size=(8, 2, 4)).astype('f')
record('heads', lambda x: tf.einsum('btd,dnh->btnh', x, heads), [open_floats(None, None, 8)], [[[n, m, 8]] for n, m in several])


def cached(q, keys, values, key, value):
    keys, values = tf.concat([keys, key], 1), tf.concat([values, value], 1)
    return [tf.matmul(tf.nn.softmax(tf.matmul(q, keys, transpose_b=True)), values), keys]


record('cached', cached, [open_floats(2, 1, 4), open_floats(2, None, 4), open_floats(2, None, 4), open_floats(2, 1, 4), open_floats(2, 1, 4)],
       [[[2, 1, 4], [2, n, 4], [2, n, 4], [2, 1, 4], [2, 1, 4]] for n in (3, 1, 8)])
filters = [rng.normal(size=shape).astype('f') for shape in [(3, 3, 3, 4), (3, 3, 4, 4), (2, 2, 4, 4), (1, 1, 8, 2)]]


def skip(x):
    fine = tf.nn.relu(tf.nn.conv2d(x, filters[0], 1, 'SAME'))
    coarse = tf.nn.relu(tf.nn.conv2d(tf.nn.max_pool2d(fine, 2, 2, 'VALID'), filters[1], 1, 'SAME'))
    size = tf.shape(coarse)
    up = tf.nn.conv2d_transpose(coarse, filters[2], [1, 2 * size[1], 2 * size[2], 4], 2)
    return tf.nn.conv2d(tf.concat([fine, up], 3), filters[3], 1, 'SAME')


skipped = [[[1, h, w, 3]] for h, w in [(4, 6), (2, 2), (12, 10)]]
record('skip', skip, [open_floats(1, None, None, 3)], skipped)
record('gathered_in_batches', lambda x, i: tf.gather(x, i, batch_dims=1), [open_floats(None, None, 3), tf.TensorSpec([None, None], tf.int32)],
       [[rng.normal(size=[a, b, 3]).astype('f'), rng.integers(0, b, [a, c]).astype('i')] for a, b, c in [(4, 6, 2), (1, 2, 5), (3, 3, 1)]])
record('classes', lambda x: [tf.one_hot(tf.unique(x)[1], tf.shape(tf.unique(x)[0])[0])], [tf.TensorSpec([None], tf.int32)],
       [[[n]] for n in (7, 1, 12)])
record('repeated', lambda x: [tf.repeat(x, [1, 2, 0, 3], axis=1), tf.repeat(x, 3, axis=0)], [open_floats(None, 4)], rows)
record('own_diagonal', lambda x: tf.linalg.set_diag(x, tf.zeros(tf.shape(x)[:-1])), [open_floats(None, None)], [[[n, n]] for n in (3, 1, 6)])


def folded(x):
    half = lambda y: (y[:tf.shape(y)[0] // 2] + y[-(tf.shape(y)[0] // 2):],)
    carried = (tf.TensorShape([None, 4]),)
    return tf.while_loop(lambda y: tf.shape(y)[0] > 1, half, (x,), shape_invariants=carried)[0]


record('folded', folded, [open_floats(None, 4)], rows)
