//! `coplay erase` and `coplay backup`.

use std::path::Path;

use anyhow::Context as _;
use coplay::cli::EraseArgs;
use dataset::who::find_people;
use store::data_folder::{DataDir, is_there};
use store::erasure::{Erasure, erase_participant};
use store::servers;

/// Erases a participant, whatever they were named by.
pub(crate) async fn erase(args: &EraseArgs) -> anyhow::Result<Erasure> {
    let EraseArgs {
        participant, data, ..
    } = args;
    anyhow::ensure!(
        is_there(data),
        "{} is no data folder of a server: it has neither episodes nor a database; name one with --data",
        data.display()
    );
    // Nobody else writes from here on.
    let folder = servers::join_alone(DataDir::open(data)?).await?;
    let erased = async {
        let found = find_one(data, participant).await?;
        erase_participant(&folder, &found, args.unpaid).await
    };
    let erased = erased.await;
    if let Some(lease) = folder.lease() {
        lease.give_up().await?;
    }
    erased
}

/// Finds the pseudonym of the only participant who has an identifier.
async fn find_one(data: &Path, id: &str) -> anyhow::Result<String> {
    let found = find_people(data, id).await?;
    let note = found.note.clone().map(|note| format!("\n{note}"));
    let note = note.unwrap_or_default();
    let mut people = found.people.into_iter().map(|person| person.participant);
    let first = people
        .next()
        .with_context(|| format!("nobody has the identifier {id}; nothing was erased{note}"))?;
    let others: Vec<String> = people.collect();
    anyhow::ensure!(
        others.is_empty(),
        "{id} matches several participants: {first}, {}; name one of them",
        others.join(", ")
    );
    Ok(first)
}
