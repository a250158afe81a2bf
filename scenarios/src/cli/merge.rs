//! `holdup merge`: the stores of shards become one.

use std::path::PathBuf;

use holdup_scenarios::store::Store;
use serde_json::json;

use super::{Exit, output};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The stores of the shards, all swept by the same program.
    #[arg(required = true, value_name = "STORE")]
    stores: Vec<PathBuf>,
    /// The store to make of them; it must not exist yet.
    #[arg(long, value_name = "OUT")]
    store: PathBuf,
    /// One JSON document instead of a sentence.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let (out, n_stores) = (&arguments.store, arguments.stores.len());
    let n_chunks = Store::merge(&arguments.stores, out)?;
    if arguments.json {
        output::print_json(&json!({ "store": out, "stores": n_stores, "chunks": n_chunks }))?;
    } else {
        let shown = out.display();
        output::print(&format!("{n_chunks} chunks of {n_stores} stores are in {shown}\n"))?;
    }
    Ok(Exit::Expected)
}
