//! The recorded steps and pools, as data.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use holdup_engine::{BlockNumber, BufferTag, Fork, RelationId};

/// What one server did under one sequence of accesses.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) n_buffers: u32,
    /// Step 0 is the pool as it was found.
    pub(crate) steps: Vec<Step>,
    /// Names of relations by number.
    pub(crate) relations: Relations,
}

pub(crate) struct Step {
    pub(crate) op: String,
    pub(crate) accesses: Vec<BufferTag>,
    pub(crate) hand: u32,
    pub(crate) passes: u32,
    /// Buffers that have another page than before, ascending.
    pub(crate) changed: Vec<u32>,
    /// Free buffers, the one that is taken first in front.
    pub(crate) free_list: Vec<u32>,
    pub(crate) note: String,
    /// The pool after the step, by buffer id.
    pub(crate) pool: Vec<Frame>,
}

/// A buffer as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) tag: Option<BufferTag>,
    pub(crate) usage: u32,
    pub(crate) pins: u32,
    pub(crate) is_dirty: bool,
}

#[derive(Default)]
pub(crate) struct Relations(BTreeMap<String, u32>);

impl Relations {
    pub(crate) fn id(&mut self, name: &str) -> RelationId {
        let next = self.0.len() as u32 + 1;
        let number = *self.0.entry(name.to_owned()).or_insert(next);
        RelationId { tablespace: 1663, database: 1, number }
    }

    pub(crate) fn name(&self, id: RelationId) -> &str {
        let found = self.0.iter().find(|(_, number)| **number == id.number);
        found.map_or("?", |(name, _)| name)
    }
}

/// Every recording of a version, in the order in which they were made.
pub(crate) fn recordings(version: &str) -> Vec<Recording> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ground_truth").join(version);
    let rows = |file: &str| rows(&fs::read_to_string(directory.join(file)).unwrap());
    let (steps, pool) = (rows("steps.tsv"), rows("pool.tsv"));
    let recording = |row: &Row| {
        let mut relations = Relations::default();
        let is_mine = |other: &&Row| other["scenario"] == row["scenario"];
        let mut pools: BTreeMap<u32, Vec<Frame>> = BTreeMap::new();
        for row in pool.iter().filter(is_mine) {
            let frames = pools.entry(number(&row["step"])).or_default();
            assert_eq!(number(&row["bufferid"]), frames.len() as u32 + 1, "buffers are in order");
            frames.push(frame(row, &mut relations));
        }
        let steps = steps.iter().filter(is_mine).map(|row| {
            let pool = pools.remove(&number(&row["step"])).expect("every step has its pool");
            step(row, pool, &mut relations)
        });
        let (steps, n_buffers) = (steps.collect(), number(&row["nbuffers"]));
        Recording { name: row["scenario"].clone(), n_buffers, steps, relations }
    };
    rows("scenarios.tsv").iter().map(recording).collect()
}

type Row = BTreeMap<String, String>;

fn rows(text: &str) -> Vec<Row> {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a table has a header").split('\t').collect();
    let row = |line: &str| {
        names.iter().map(ToString::to_string).zip(line.split('\t').map(str::to_owned)).collect()
    };
    lines.map(row).collect()
}

fn number(text: &str) -> u32 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

fn frame(row: &Row, relations: &mut Relations) -> Frame {
    if row["relation"].is_empty() {
        return Frame::default();
    }
    let fork = Fork::ALL[number(&row["fork"]) as usize];
    let tag = BufferTag::new(relations.id(&row["relation"]), fork, number(&row["block"]));
    Frame {
        tag: Some(tag),
        usage: number(&row["usagecount"]),
        pins: number(&row["pinning_backends"]),
        is_dirty: row["isdirty"] == "1",
    }
}

fn step(row: &Row, pool: Vec<Frame>, relations: &mut Relations) -> Step {
    let access = |word: &str| {
        let (relation, block) = word.split_once(':').expect("an access is relation:block");
        let block: BlockNumber = number(block);
        BufferTag::new(relations.id(relation), Fork::Main, block)
    };
    let ids = |column: &str| -> Vec<u32> {
        row[column].split_whitespace().map(|id| number(id) - 1).collect()
    };
    Step {
        op: row["op"].clone(),
        changed: ids("changed_bufferids"),
        free_list: ids("free_list"),
        hand: number(&row["hand_after"]),
        passes: number(&row["passes_after"]),
        accesses: row["accesses"].split_whitespace().map(access).collect(),
        note: row["note"].clone(),
        pool,
    }
}
