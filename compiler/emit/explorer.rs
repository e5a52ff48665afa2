//! Graphs and times of operators, as JSON for Model Explorer.

use super::graph::Place;
use serde_json::{Value, json};

/// Prefix of the name of node data.
pub const TIME: &str = "modelc: time";

/// Returns the graphs of a report. Model Explorer reads a label and graphs, and ignores other fields.
pub fn graphs(report: &Value) -> Value {
    let graphs = items(&report["graphs"])
        .enumerate()
        .map(|(number, graph)| json!({ "id": id(graph, number), "nodes": nodes(report, graph, number) }));
    json!({
        "schema": "modelc.graph/1",
        "label": report["model"]["file"],
        "graphs": graphs.collect::<Vec<_>>(),
    })
}

/// Returns the time of each operator, for the graphs of the same model. Operators of one kernel share its time evenly.
pub fn node_data(report: &Value) -> Value {
    let times = items(&report["time"]["kernels"]).filter_map(|kernel| Some((kernel["number"].as_u64()?, kernel["median_ns"].as_f64()?)));
    let times: std::collections::HashMap<u64, f64> = times.collect();
    let mut data = json!({});
    for row in items(&report["operators"]) {
        let time: f64 = items(&row["kernels"]).filter_map(|kernel| times.get(&kernel.as_u64()?)).sum();
        let places: Vec<Place> = items(&row["nodes"]).filter_map(place).collect();
        for &[graph, node] in &places {
            let graph_id = id(&report["graphs"][graph], graph);
            let graph = &mut data[&graph_id];
            graph["name"] = json!(format!("{TIME} in µs"));
            graph["gradient"] = json!([{ "stop": 0, "bgColor": "#ffffff" }, { "stop": 1, "bgColor": "#e59a4e" }]);
            graph["results"][format!("node{node}")] = json!({ "value": time / 1e3 / places.len() as f64 });
        }
    }
    data
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn place(place: &Value) -> Option<Place> {
    Some([place[0].as_u64()? as usize, place[1].as_u64()? as usize])
}

/// Returns a unique id of a graph. A file may have unnamed functions, but no two with the same name.
fn id(graph: &Value, number: usize) -> String {
    graph["name"].as_str().filter(|name| !name.is_empty()).map_or_else(|| format!("graph {number}"), str::to_owned)
}

fn nodes(report: &Value, graph: &Value, number: usize) -> Vec<Value> {
    let input = |(position, input): (usize, &Value)| {
        let tensor = [("tensor_name", &input["tensor"]), ("tensor_shape", &input["type"])];
        json!({ "id": format!("input{position}"), "label": "input", "namespace": "", "outputsMetadata": [{ "id": "0", "attrs": pairs(&tensor) }] })
    };
    let operator = |(position, operator): (usize, &Value)| {
        let subgraphs: Vec<String> = items(&operator["graphs"])
            .filter_map(Value::as_u64)
            .map(|inner| id(&report["graphs"][inner as usize], inner as usize))
            .collect();
        json!({
            "id": format!("node{position}"),
            "label": operator["name"],
            "namespace": namespace(operator["tensor"].as_str().unwrap_or_default()),
            "subgraphIds": subgraphs,
            "attrs": attributes(report, operator, [number, position]),
            "incomingEdges": edges(operator["inputs"].as_array()),
            "outputsMetadata": [{ "id": "0", "attrs": pairs(&[("tensor_name", &operator["tensor"]), ("tensor_shape", &operator["type"])]) }],
        })
    };
    let outputs = json!({ "id": "outputs", "label": "outputs", "namespace": "", "incomingEdges": edges(graph["outputs"].as_array()) });
    let inputs = items(&graph["inputs"]).enumerate().map(input);
    inputs.chain(items(&graph["operators"]).enumerate().map(operator)).chain([outputs]).collect()
}

/// Returns the folders of a tensor's path, by which Model Explorer groups layers.
fn namespace(tensor: &str) -> &str {
    // A converter may have joined several names. The first one belongs to this tensor.
    let first = tensor.split(';').next().unwrap_or_default();
    first.rsplit_once('/').map_or("", |(folders, _)| folders)
}

fn edges(wires: Option<&Vec<Value>>) -> Vec<Value> {
    let edge = |(position, wire): (usize, &Value)| {
        let node = wire["node"].as_u64().map(|node| format!("node{node}"));
        let source = node.or_else(|| wire["input"].as_u64().map(|input| format!("input{input}")))?;
        Some(json!({ "sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": position.to_string() }))
    };
    wires.into_iter().flatten().enumerate().filter_map(edge).collect()
}

/// Returns the attributes of an operator: its number, parameters, and the kernels that compute it.
fn attributes(report: &Value, operator: &Value, place: Place) -> Vec<Value> {
    let mut list = pairs(&[("index", &operator["index"]), ("parameters", &operator["parameters"])]);
    let at = json!(place);
    let kernels = items(&report["kernels"]).filter(|kernel| items(&kernel["nodes"]).any(|node| *node == at));
    for kernel in kernels {
        list.extend(pairs(&[("kernel", &kernel["symbol"]), ("schedule", &kernel["schedule"])]));
    }
    list
}

fn pairs(list: &[(&str, &Value)]) -> Vec<Value> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    list.iter().map(|(key, value)| json!({ "key": key, "value": text(value) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Value {
        let wire = |kind: &str| json!({ kind: 0, "tensor": "t", "type": "f32[1]" });
        let operator = |index: u32, inputs: Value| json!({ "index": index, "name": "ADD", "tensor": "a/b/c;d", "type": "f32[1]", "parameters": 3, "inputs": inputs });
        json!({
            "model": { "file": "m.tflite" },
            "graphs": [{ "name": "main", "inputs": [{ "tensor": "x", "type": "f32[1]" }], "outputs": [wire("node")],
                         "operators": [operator(0, json!([wire("input")])), operator(1, json!([wire("node")]))] }],
            "kernels": [{ "symbol": "net_k", "schedule": "s", "nodes": [[0, 0], [0, 1]] }],
            "operators": [{ "kernels": [0], "nodes": [[0, 0], [0, 1]] }],
            "time": { "kernels": [{ "number": 0, "median_ns": 4000.0 }] },
        })
    }

    #[test]
    fn every_edge_begins_at_a_node() {
        let graph = &graphs(&report())["graphs"][0];
        let ids: Vec<&str> = items(&graph["nodes"]).filter_map(|node| node["id"].as_str()).collect();
        assert_eq!(ids, ["input0", "node0", "node1", "outputs"]);
        for edge in items(&graph["nodes"]).flat_map(|node| items(&node["incomingEdges"])) {
            assert!(edge["sourceNodeId"].as_str().is_some_and(|source| ids.contains(&source)), "{edge}");
        }
        assert_eq!(graph["nodes"][1]["namespace"], "a/b");
        assert_eq!(graph["nodes"][2]["attrs"][2], json!({ "key": "kernel", "value": "net_k" }));
    }

    #[test]
    fn operators_of_one_kernel_share_its_time() {
        assert_eq!(node_data(&report())["main"]["results"]["node1"]["value"], json!(2.0));
    }
}
