"""Reads a graph and node data into Model Explorer's own types: `explorer.py GRAPH.json NODES.json`. What does not fit them is an error."""

import dataclasses
import json
import sys

from model_explorer import graph_builder, node_data_builder


def built(kind, value):
    """A dataclass of a JSON object, with no field that it does not have."""
    return kind(**value)


def node(value):
    value = dict(value)
    value["attrs"] = [built(graph_builder.KeyValue, item) for item in value.get("attrs", [])]
    value["incomingEdges"] = [built(graph_builder.IncomingEdge, item) for item in value.get("incomingEdges", [])]
    value["outputsMetadata"] = [built(graph_builder.MetadataItem, item) for item in value.get("outputsMetadata", [])]
    return built(graph_builder.GraphNode, value)


collection = json.load(open(sys.argv[1]))
# The loader of JSON in the browser asks for these.
assert collection["label"] and isinstance(collection["graphs"], list)
graphs = {}
for graph in collection["graphs"]:
    nodes = [node(value) for value in graph["nodes"]]
    ids = {value.id for value in nodes}
    assert len(ids) == len(nodes) and graph["id"] not in graphs
    assert all(edge.sourceNodeId in ids for value in nodes for edge in value.incomingEdges)
    graphs[graph["id"]] = ids
    dataclasses.asdict(graph_builder.Graph(id=graph["id"], nodes=nodes))
for graph, data in json.load(open(sys.argv[2])).items():
    results = {key: node_data_builder.NodeDataResult(**value) for key, value in data["results"].items()}
    gradient = [node_data_builder.GradientItem(**item) for item in data["gradient"]]
    assert set(results) <= graphs[graph] and results
    node_data_builder.GraphNodeData(results=results, name=data["name"], gradient=gradient)
print(sum(len(ids) for ids in graphs.values()))
