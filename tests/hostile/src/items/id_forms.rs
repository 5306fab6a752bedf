//! Identifiers that no recruiter gives are taken for people.

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::Entry;
use crate::world::World;

pub(crate) const NAME: &str = "id-forms";
pub(crate) const TRIES: &str =
    "An identifier of a form that the recruiter never gives makes a session, or a second one for the same person.";

/// A well-formed identifier of Prolific, and one of a worker.
const PROLIFIC: &str = "5f3c9a0000000000000000aa";
const WORKER: &str = "A2SUAM7XYZABCD";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let provider = variant.choose("provider", &["prolific", "mturk"]);
    let forged = variant.choose(
        "form",
        &["short", "not hexadecimal", "control character", "formula", "spaces around", "long"],
    );
    let good = if provider == "prolific" { PROLIFIC } else { WORKER };
    let id = match forged {
        // Without the letter that every worker's identifier begins with, and with too few digits for Prolific.
        "short" => good[1..4].to_owned(),
        "not hexadecimal" => "zz-not-an-identifier-zz!".to_owned(),
        "control character" => format!("{}\u{7}\n{}", &good[..8], &good[8..]),
        "formula" => "=HYPERLINK(\"http://x.example\")".to_owned(),
        "spaces around" => format!("  {good} "),
        _ => good.repeat(20),
    };
    let mut study = Study::questions();
    study.recruitment = study.recruitment.replace("prolific", provider);
    study.recruitment = study.recruitment.replace("GBP", "USD");
    world.serve(&study, &[]).await?;
    let query = |id: &str| {
        let pairs = match provider {
            "prolific" => return World::query_of(id),
            _ => [
                ("workerId", id),
                ("assignmentId", "3TS1AR6UQQDJ7PL48N7PCRZO6T47F6"),
                ("hitId", "3XJOUITW8URHJMX7F00H20LGRIAQTX"),
                ("turkSubmitTo", "https://www.mturk.com"),
            ],
        };
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        pairs.into_iter().map(owned).collect()
    };
    let known = Page::enter(&world.address(), Entry::Sent(query(good))).await?;
    let mut page = Page::connect(&world.address()).await?;
    let refused = page.say_hello(Entry::Sent(query(&id))).await?;
    drop((known, page));
    world.stop().await?;
    let sessions = world.table("sessions").await?.len();
    let seen = format!(
        "{id:?} is {}; with the one of {good:?} there are {sessions} sessions",
        refused.map_or("let in".to_owned(), |why| format!("refused: {why:?}"))
    );
    // With spaces around it, it is the same person.
    Ok(Observed::broken_if(sessions > 1, seen))
}
