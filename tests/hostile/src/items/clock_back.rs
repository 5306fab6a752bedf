//! A machine whose clock steps back while the server restarts in the middle of an episode.

use std::time::Duration;

use tokio::time::sleep;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::world::{World, free_port, wait_until};

pub(crate) const NAME: &str = "clock-back";
pub(crate) const TRIES: &str =
    "The machine's clock steps back at a restart in the middle of an episode, and honest uploads are refused.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let back_s = variant.choose("back by s", &[5, 60, 3_600]);
    let is_killed = variant.choose("killed", &[true, false, true]);
    let after_s = variant.draw("after s", 3, 6);
    Study::pair(250, 10).write(&world.study())?;
    let port = free_port()?;
    let listen = format!("127.0.0.1:{port}");
    world.start(&["--listen", &listen]).await?;
    let people = [world.honest()?, world.honest()?];
    wait_until(Duration::from_secs(30), || people.iter().all(|person| person.is_playing())).await;
    sleep(Duration::from_secs(after_s)).await;
    match is_killed {
        true => world.kill().await?,
        false => world.stop().await?,
    }
    world.set_clock(-back_s);
    world.start(&["--listen", &listen]).await?;
    wait_until(Duration::from_secs(90), || people.iter().all(|person| person.is_over())).await;
    let outcomes = people.each_ref().map(|person| person.outcome());
    let stuck = people.each_ref().map(|person| person.stuck_stage());
    let traces: Vec<String> = people
        .iter()
        .flat_map(|person| person.trace().lines().map(str::trim).map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| line.contains("Refused"))
        .collect();
    let are_done = outcomes.iter().all(|outcome| outcome.as_deref() == Some("completed"));
    drop(people);
    let seen = format!("the people end as {outcomes:?}, stuck: {stuck:?}; refusals: {traces:?}");
    Ok(Observed::broken_if(!are_done || !traces.is_empty(), seen))
}
