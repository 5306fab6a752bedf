//! A clock that is years ahead makes the server erase everything.

use std::time::Duration;

use tokio::time::sleep;

use crate::item::{Observed, Variant};
use crate::study::Study;
use crate::wire::messages::{Answer, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "clock-ahead";
pub(crate) const TRIES: &str = "The machine's clock is years ahead, and the study erases old data.";

/// A year, seconds.
const YEAR_S: i64 = 31_557_600;

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let years = variant.choose("years ahead", &[5, 20, 80]);
    let days = variant.choose("days of retention", &[1, 30, 365]);
    let when = variant.choose("ahead", &["at a restart", "while it runs"]);
    let mut study = Study::questions();
    study.about = format!("  retention_days: {days}\n");
    world.serve(&study, &[]).await?;
    let mut page = world.attacker().await?;
    let (stage, _) = page.await_stage(|_| true).await?;
    let answer = Answer {
        name: "why".to_owned(),
        value: "\"because\"".to_owned(),
    };
    page.finish(stage, vec![answer]).await?;
    page.await_stage(|view| matches!(view, StageView::End { .. })).await?;
    drop(page);
    if when == "at a restart" {
        world.stop().await?;
        world.set_clock(years * YEAR_S);
        world.start(&[]).await?;
    } else {
        world.leap(Duration::from_secs((years * YEAR_S) as u64)).await?;
    }
    // Somebody comes, so that the server looks at what is due.
    let page = world.attacker().await;
    sleep(Duration::from_secs(2)).await;
    drop(page);
    world.stop().await?;
    let left = world.query("SELECT item FROM answers", "").await?.len();
    let seen = format!("of one answer given today, {left} is left");
    Ok(Observed::broken_if(left == 0, seen))
}
