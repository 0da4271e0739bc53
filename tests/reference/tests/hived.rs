//! HiveD's own algorithm test, request by request: its design cluster and its expected placements,
//! victims and refusals, all of them exactly. Which nodes were suggested, broken or taken away in
//! between is told here; what must come of it is read from the data.

use heeler_parts::cells::{
    Answer, Binding, CellType, Cells, GangState, Layout, LayoutFault, LeafState, Phase,
    PhysicalCell, Refusal, Request, VirtualCells, VirtualCluster,
};
use heeler_reference::file;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The test's data.
struct Data {
    layout: Layout,
    expected: Value,
}

/// A pod as the data tells of it.
struct Pod {
    name: String,
    cluster: String,
    priority: i32,
    lazy: bool,
    pinned: Option<String>,
    leaf_type: Option<String>,
    leaves: u32,
    gang: u32,
    members: Vec<(u32, u32)>,
    number: u32,
}

impl Pod {
    fn request(&self) -> Request<'_> {
        Request {
            cluster: &self.cluster,
            priority: self.priority,
            lazy: self.lazy,
            pinned: self.pinned.as_deref(),
            leaf_type: self.leaf_type.as_deref(),
            chain: None,
            gang: self.gang,
            members: &self.members,
            pod: self.number,
            leaves: self.leaves,
        }
    }
}

fn json(name: &str) -> Option<Value> {
    let path = file(name)?;
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}"));
    Some(serde_json::from_str(&text).expect("the data is JSON"))
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn number(value: &Value) -> u32 {
    value.as_u64().expect("a number") as u32
}

fn names(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(text).collect()
}

/// The digits at the end of a name such as `pod7`.
fn digits(name: &str) -> u32 {
    name.trim_start_matches(char::is_alphabetic).parse().expect("a name with a number")
}

fn physical(value: &Value) -> PhysicalCell {
    PhysicalCell {
        address: text(&value["cellAddress"]),
        pinned: text(&value["pinnedCellId"]),
        children: value["cellChildren"].as_array().into_iter().flatten().map(physical).collect(),
    }
}

fn data() -> Option<Data> {
    let design = json("hived-cells/design_cluster.json")?;
    let expected = json("hived-cells/expected_behaviour.json")?;
    let types = design["cell_types"].as_object().expect("types").iter();
    let types = types.map(|(name, spec)| CellType {
        name: name.clone(),
        child: text(&spec["child"]).expect("a child"),
        count: number(&spec["count"]),
        is_node: spec["node_level"] == Value::Bool(true),
    });
    let cells = design["physical_cells"].as_array().expect("cells").iter();
    let cell = |value: &Value| (text(&value["cellType"]).expect("a type"), physical(value));
    let mut tops: Vec<(String, PhysicalCell)> = cells.map(cell).collect();
    // The test has the chains of a type of leaf tried from the last name to the first.
    tops.sort_by(|a, b| b.0.cmp(&a.0));
    let clusters = design["virtual_clusters"].as_object().expect("clusters").iter();
    let clusters = clusters.map(|(name, spec)| {
        let cells = spec["virtualCells"].as_array().into_iter().flatten();
        let owned = |value: &Value| {
            let path = text(&value["cellType"]).expect("a type");
            owned(&path, number(&value["cellNumber"]))
        };
        let pins = spec["pinnedCells"].as_array().into_iter().flatten();
        VirtualCluster {
            name: name.clone(),
            cells: cells.map(owned).collect(),
            pinned: pins.filter_map(|pin| text(&pin["pinnedCellId"])).collect(),
        }
    });
    let layout = Layout { types: types.collect(), physical: tops, clusters: clusters.collect() };
    Some(Data { layout, expected })
}

/// Cells of the type that a path of types leads to.
fn owned(path: &str, number: u32) -> VirtualCells {
    let first = path.split('.').next().expect("a path has a beginning");
    let last = path.split('.').next_back().expect("a path has an end");
    VirtualCells { chain: first.into(), cell: last.into(), number }
}

/// The cells while requests come, and who is where.
struct Stage<'a> {
    data: &'a Data,
    cells: Cells,
    /// Pods that were placed, in order.
    placed: Vec<(String, Binding)>,
    compared: usize,
}

impl<'a> Stage<'a> {
    fn new(data: &'a Data, layout: &Layout) -> Stage<'a> {
        let mut cells = Cells::new(layout).expect("the layout can be");
        for node in 0..cells.nodes().len() as u32 {
            cells.set_healthy(node);
        }
        Stage { data, cells, placed: Vec::new(), compared: 0 }
    }

    fn pod(&self, name: &str) -> Pod {
        let value = &self.data.expected["requests"][name];
        let gang = text(&value["gang"]).expect("a gang");
        let members = self.data.expected["gangs"][&gang].as_array().into_iter().flatten();
        let member = |value: &Value| (number(&value["pods"]), number(&value["leaf_cells"]));
        Pod {
            name: name.into(),
            cluster: text(&value["vc"]).expect("a cluster"),
            priority: value["priority"].as_i64().expect("a number") as i32,
            lazy: value["lazy_preemption"] == Value::Bool(true),
            pinned: text(&value["pinned_cell"]),
            leaf_type: text(&value["leaf_type"]),
            leaves: number(&value["leaf_cells"]),
            gang: digits(&gang),
            members: members.map(member).collect(),
            number: digits(name),
        }
    }

    fn nodes(&self, names: &[&str]) -> BTreeSet<u32> {
        names.iter().flat_map(|name| self.cells.nodes_named(name)).collect()
    }

    fn ask(&mut self, name: &str, nodes: &[&str], phase: Phase) -> Result<Answer, Refusal> {
        let pod = self.pod(name);
        let nodes = self.nodes(nodes);
        self.cells.schedule(&pod.request(), Some(&nodes), phase)
    }

    fn ask_all(&mut self, name: &str) -> Result<Answer, Refusal> {
        let pod = self.pod(name);
        let nodes: BTreeSet<u32> = (0..self.cells.nodes().len() as u32).collect();
        self.cells.schedule(&pod.request(), Some(&nodes), Phase::Preempting)
    }

    /// Compare an answer with what is expected of it.
    fn compare(&mut self, name: &str, answer: &Answer) {
        self.compared += 1;
        let expected = &self.data.expected["expected_placement"][name];
        if let Some(node) = text(&expected["node"]) {
            let Answer::Bind(binding) = answer else { panic!("{name}: {answer:?}") };
            let slots: Vec<u32> =
                expected["leaf_indices"].as_array().expect("a list").iter().map(number).collect();
            assert_eq!((&binding.pod().node, &binding.pod().slots), (&node, &slots), "{name}");
            return;
        }
        assert!(!matches!(answer, Answer::Bind(_)), "{name} should not be placed: {answer:?}");
        let victims = names(&self.data.expected["expected_victims"][name]);
        if !victims.is_empty() {
            let Answer::Preempt(gangs) = answer else { panic!("{name}: {answer:?}") };
            let there =
                self.placed.iter().filter(|(other, _)| gangs.contains(&self.pod(other).gang));
            let there: Vec<String> = there.map(|(other, _)| other.clone()).collect();
            assert_eq!(there, victims, "{name}");
        }
    }

    fn add(&mut self, name: &str, answer: Answer) {
        if let Answer::Bind(binding) = answer {
            let pod = self.pod(name);
            self.cells.add(&pod.request(), &binding);
            self.placed.push((pod.name, binding));
        }
    }

    /// Ask with some nodes suggested, compare, and go there.
    fn run(&mut self, name: &str, nodes: &[&str]) {
        let answer = self.ask(name, nodes, Phase::Preempting).expect("a request that makes sense");
        self.compare(name, &answer);
        self.add(name, answer);
    }

    fn run_all(&mut self, list: &str) {
        for name in names(&self.data.expected[list]) {
            self.run_one(&name);
        }
    }

    fn run_one(&mut self, name: &str) {
        let answer = self.ask_all(name).expect("a request that makes sense");
        self.compare(name, &answer);
        self.add(name, answer);
    }

    fn delete(&mut self, name: &str) {
        let index = self.placed.iter().position(|(other, _)| other == name);
        let (_, binding) = self.placed.remove(index.expect("it was placed"));
        let gang = self.pod(name).gang;
        self.cells.delete(gang, binding.index);
    }

    fn delete_all(&mut self) {
        while let Some((name, _)) = self.placed.last().cloned() {
            self.delete(&name);
        }
        let asking: Vec<u32> = self.cells.gangs().map(|(id, _)| id).collect();
        for name in names(&self.data.expected["order_must_succeed"]) {
            let pod = self.pod(&name);
            if asking.contains(&pod.gang) {
                self.cells.withdraw(pod.gang, pod.number);
            }
        }
    }

    /// Whether the cells that are free of a type look healthy, by cluster.
    fn free_cells(&self, cluster: &str, chain: &str, cell: &str) -> Vec<bool> {
        let owned = self.cells.owned(cluster, chain, cell).into_iter();
        owned.filter(|(used, _)| !used).map(|(_, healthy)| healthy).collect()
    }

    fn all(&self) -> Vec<String> {
        self.cells.nodes().to_vec()
    }

    fn bad(&mut self, node: &str) {
        for node in self.cells.nodes_named(node) {
            self.cells.set_bad(node);
        }
    }

    fn healthy(&mut self, node: &str) {
        for node in self.cells.nodes_named(node) {
            self.cells.set_healthy(node);
        }
    }
}

#[test]
fn requests_in_order_are_answered_as_expected() {
    let Some(data) = data() else { return };
    let mut stage = Stage::new(&data, &data.layout);
    stage.run_all("order_must_succeed");
    stage.run_one("pod26");
    assert_eq!(stage.compared, 20);
    let before = stage.cells.save();
    for name in names(&data.expected["must_fail"]) {
        let answer = stage.ask_all(&name);
        assert!(answer.is_err(), "{name}: {answer:?}");
    }
    assert_eq!(stage.cells.save(), before, "a request that is refused leaves no trace");
    stage.cells.withdraw(17, 26);
    stage.delete_all();
    assert_eq!(stage.cells.gangs().count(), 0);
}

#[test]
fn gangs_stay_on_suggested_nodes() {
    let Some(data) = data() else { return };
    let mut stage = Stage::new(&data, &data.layout);
    let answer = stage.ask("pod36", &["0.0.1.0"], Phase::Preempting).expect("it makes sense");
    stage.compare("pod36", &answer);
    stage.run("pod37", &["0.0.3.0"]);
    let answer = stage.ask("pod38", &["0.0.3.1"], Phase::Preempting).expect("it makes sense");
    stage.compare("pod38", &answer);
    stage.delete("pod37");
    let all = stage.all();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let most: Vec<&str> = all.iter().copied().filter(|node| *node != "0.0.3.1").collect();
    stage.run("pod27", &most);
    // With all nodes it can go.
    let answer = stage.ask("pod27", &all, Phase::Preempting).expect("it makes sense");
    assert!(matches!(answer, Answer::Bind(_)), "{answer:?}");
    stage.add("pod27", answer);
    let gang = stage.pod("pod33").gang;
    for (nodes, phase, claims) in [
        (&all, Phase::Filtering, false),
        (&most, Phase::Preempting, false),
        (&all, Phase::Preempting, true),
        (&most, Phase::Preempting, false),
    ] {
        stage.ask("pod33", nodes, phase).expect("it makes sense");
        let state = stage.cells.gang(gang).map(|gang| gang.state);
        assert_eq!(state, claims.then_some(GangState::Preempting), "{phase:?}");
    }
}

#[test]
fn cells_are_searched_for_where_nodes_are_suggested() {
    let Some(data) = data() else { return };
    let mut layout = data.layout.clone();
    layout.clusters[0].cells[0].number = 0;
    layout.clusters[0].cells[3].number = 3;
    let mut stage = Stage::new(&data, &layout);
    stage.run("pod39", &["0.0.3.2", "0.0.3.3"]);
    stage.run("pod40", &["0.0.4.3"]);
    stage.run("pod41", &["0.0.3.2", "0.0.3.3", "0.0.4.3"]);
    // It would have taken the guarantee of both, and could not be mapped.
    for gang in [27, 28] {
        let gang = stage.cells.gang(gang).expect("it is there");
        assert!(gang.state == GangState::Allocated && gang.is_guaranteed());
    }
}

#[test]
fn claims_are_kept_passed_on_and_cancelled() {
    let Some(data) = data() else { return };
    let mut stage = Stage::new(&data, &data.layout);
    let gone = BTreeMap::from([("pod33", vec![20, 22]), ("pod34", vec![24])]);
    for name in names(&data.expected["stateful_preemption"]) {
        stage.run_one(&name);
        if name == "pod33" {
            stage.delete("pod28");
        }
        for gang in gone.get(name.as_str()).into_iter().flatten() {
            assert!(stage.cells.gang(*gang).is_none(), "{name}: gang {gang}");
        }
    }
    stage.cells.withdraw(26, 35);
    assert!(stage.cells.gang(26).is_none());
    for node in ["0.0.3.0", "0.0.3.1"] {
        for slot in 0..16 {
            let expected = match node {
                "0.0.3.0" => (LeafState::Used, 4),
                _ => (LeafState::Free, -2),
            };
            assert_eq!(stage.cells.leaf(node, slot), Some(expected), "{node} {slot}");
        }
    }
}

#[test]
fn clusters_see_which_cells_are_doomed() {
    let Some(data) = data() else { return };
    let mut layout = data.layout.clone();
    layout.clusters[1].cells[2] = owned("3-DGX2-V100-NODE.DGX2-V100-NODE", 1);
    let mut stage = Stage::new(&data, &layout);
    let look = |stage: &Stage| {
        let of = |cluster| stage.free_cells(cluster, "3-DGX2-V100-NODE", "DGX2-V100-NODE");
        (of("VC1"), of("VC2"))
    };
    let go = |stage: &mut Stage, name: &str, node: &str| {
        let answer = stage.ask(name, &[node], Phase::Preempting).expect("it makes sense");
        assert!(matches!(answer, Answer::Bind(_)), "{name}: {answer:?}");
        stage.add(name, answer);
    };
    go(&mut stage, "pod42", "0.0.2.0");
    stage.bad("0.0.2.1");
    assert_eq!(look(&stage), (vec![true], vec![true]));
    go(&mut stage, "pod43", "0.0.2.2");
    assert_eq!(look(&stage), (vec![false], vec![]));
    stage.delete("pod43");
    assert_eq!(look(&stage), (vec![true], vec![true]));
    stage.bad("0.0.2.2");
    assert_eq!(look(&stage), (vec![false], vec![false]));
    stage.healthy("0.0.2.2");
    assert_eq!(look(&stage), (vec![true], vec![true]));
    stage.bad("0.0.2.0");
    stage.bad("0.0.2.2");
    stage.delete("pod42");
    assert_eq!(look(&stage), (vec![false, false], vec![false]));
}

#[test]
fn larger_cells_are_split_only_while_that_is_safe() {
    let Some(data) = data() else { return };
    let mut layout = data.layout.clone();
    layout.clusters[0].cells[0].number = 4;
    layout.clusters[0].cells[2].number = 0;
    layout.clusters[0].cells[3].number = 0;
    layout.clusters[1].cells[2] = owned("4-DGX2-V100-NODE.2-DGX2-V100-NODE", 1);
    let mut stage = Stage::new(&data, &layout);
    let four = ["0.0.3.2", "0.0.3.3", "0.0.4.2", "0.0.4.3"];
    stage.run("pod44", &four);
    stage.bad("0.0.3.3");
    stage.run("pod45", &four);
    stage.bad("0.0.4.3");
    stage.run("pod46", &["0.0.3.2", "0.0.3.3", "0.0.4.0", "0.0.4.1", "0.0.4.2", "0.0.4.3"]);
}

/// After a change of the layout, gangs that run go on; those for which there is no cell any more
/// without a guarantee.
#[test]
fn gangs_survive_a_change_of_the_layout() {
    let Some(data) = data() else { return };
    let mut old = Stage::new(&data, &data.layout);
    old.run_all("order_must_succeed");
    let mut layout = data.layout.clone();
    let shortened = layout.types.iter_mut().find(|kind| kind.name == "DGX2-V100-NODE");
    let shortened = shortened.expect("the type is there");
    (shortened.child, shortened.count) = ("DGX2-V100".into(), 16);
    let of = |chain: &'static str| move |cell: &&mut (String, PhysicalCell)| cell.0 == chain;
    let mut racks = layout.physical.iter_mut().filter(of("4-DGX2-V100-NODE"));
    racks.next().expect("a first").1.children[0].children[0].address = Some("0.0.3.100".into());
    layout.clusters[1].cells[0].number = 1;
    // A rack falls apart into nodes, and another of new nodes takes its place.
    let rack = racks.next().expect("a second");
    let nodes: Vec<PhysicalCell> =
        rack.1.children.iter().flat_map(|pair| pair.children.clone()).collect();
    let renamed = rack.1.children.iter_mut().flat_map(|pair| &mut pair.children);
    for (name, node) in (100..).zip(renamed) {
        node.address = Some(format!("0.0.4.{name}"));
    }
    layout.physical.extend(nodes.into_iter().map(|node| ("DGX2-V100-NODE".to_string(), node)));
    let mut stage = Stage::new(&data, &layout);
    for (name, binding) in &old.placed {
        let pod = stage.pod(name);
        stage.cells.add(&pod.request(), binding);
        stage.placed.push((name.clone(), binding.clone()));
    }
    for name in names(&data.expected["lazily_preempted"]) {
        let gang = stage.cells.gang(stage.pod(&name).gang).expect("it runs");
        assert!(!gang.is_guaranteed(), "{name} should have lost its guarantee");
    }
    stage.delete_all();
    assert_eq!(stage.cells.gangs().count(), 0);
}

#[test]
fn clusters_cannot_own_more_than_there_is() {
    let Some(data) = data() else { return };
    let mut layout = data.layout.clone();
    layout.clusters[0].cells[0] = owned("CT1-NODE", 2);
    layout.clusters[0].cells[1] = owned("CT1-NODE.CT1", 2);
    let refused = Cells::new(&layout).err();
    assert!(matches!(refused, Some(LayoutFault::NotEnough { .. })), "{refused:?}");
}
