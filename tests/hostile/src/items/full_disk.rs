//! A disk that is full while people answer and play.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::item::{Observed, Variant};
use crate::page::Page;
use crate::study::Study;
use crate::wire::messages::{Answer, Entry, StageView};
use crate::world::{World, wait_until};

pub(crate) const NAME: &str = "full-disk";
pub(crate) const TRIES: &str =
    "The disk is full while people answer and play, and later there is room again.";

/// How long a page keeps coming back once there is room.
const PATIENCE: Duration = Duration::from_secs(10);

/// A small file system in memory, until it is dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path, size: &str) -> anyhow::Result<Self> {
        std::fs::create_dir_all(at)?;
        let options = format!("size={size},mode=700");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at);
        anyhow::ensure!(mount.status()?.success(), "a small disk cannot be mounted; that needs root");
        Ok(Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server may still have files open.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let during = variant.choose("full during", &["an answer", "an episode", "an entry"]);
    let full_s = variant.choose("full for s", &[2, 4, 6]);
    let disk = SmallDisk::mount(&world.data(), "8m")?;
    let study = match during {
        "an episode" => Study::pair(120, 10),
        _ => Study::questions(),
    };
    world.serve(&study, &[]).await?;
    let address = world.address();
    let ballast = world.data().join("ballast");
    let fill = || {
        // As much as there is room for; the last write fails.
        let mut dd = Command::new("dd");
        dd.arg("if=/dev/zero").arg(format!("of={}", ballast.display())).arg("bs=4k");
        dd.stderr(std::process::Stdio::null());
        let _ = dd.status();
    };
    let id = world.next_id();
    let seen = match during {
        "an episode" => {
            let people = [world.honest()?, world.honest()?];
            wait_until(Duration::from_secs(30), || people.iter().all(|person| person.is_playing())).await;
            sleep(Duration::from_secs(4)).await;
            fill();
            sleep(Duration::from_secs(full_s)).await;
            std::fs::remove_file(&ballast)?;
            wait_until(Duration::from_secs(60), || people.iter().all(|person| person.is_over())).await;
            let outcomes = [people[0].outcome(), people[1].outcome()];
            let are_done = outcomes.iter().all(|outcome| outcome.as_deref() == Some("completed"));
            (are_done, format!("the people end as {outcomes:?}"))
        }
        "an answer" => {
            let mut page = Page::enter(&address, Entry::Sent(World::query_of(&id))).await?;
            let (stage, _) = page.await_stage(|_| true).await?;
            fill();
            page.finish(stage, vec![answer()]).await?;
            sleep(Duration::from_secs(full_s)).await;
            std::fs::remove_file(&ballast)?;
            let next = page.await_stage(|view| matches!(view, StageView::End { .. })).await;
            let is_next = match next {
                Ok(_) => true,
                Err(_) => answers_again(&address, &id).await.is_ok(),
            };
            (is_next, format!("the answer is taken once there is room: {is_next}"))
        }
        _ => {
            fill();
            let early = Page::enter(&address, Entry::Sent(World::query_of(&id))).await;
            sleep(Duration::from_secs(full_s)).await;
            std::fs::remove_file(&ballast)?;
            drop(early);
            let late = answers_again(&address, &id).await;
            let is_in = late.is_ok();
            (is_in, format!("somebody is let in once there is room: {is_in}"))
        }
    };
    let is_up = world.is_up().await;
    let answers = match during {
        "an episode" => 1,
        _ => world.query("SELECT item FROM answers", "").await?.len(),
    };
    let log = world.logged().lines().rev().take(2).collect::<Vec<_>>().join(" | ");
    drop(disk);
    let (is_good, told) = seen;
    let seen = format!("the server still runs: {is_up}; {told}; rows stored: {answers}; last of its log: {log}");
    Ok(Observed::broken_if(!is_up || !is_good || answers == 0, seen))
}

fn answer() -> Answer {
    Answer {
        name: "why".to_owned(),
        value: "\"because\"".to_owned(),
    }
}

/// Comes back as a page does that lost its connection, again and again for some seconds, and answers.
async fn answers_again(address: &str, id: &str) -> anyhow::Result<()> {
    let until = Instant::now() + PATIENCE;
    loop {
        match answer_once(address, id).await {
            Err(_) if Instant::now() < until => sleep(Duration::from_millis(500)).await,
            done => return done,
        }
    }
}

async fn answer_once(address: &str, id: &str) -> anyhow::Result<()> {
    let mut page = Page::enter(address, Entry::Sent(World::query_of(id))).await?;
    let (stage, view) = page.await_stage(|_| true).await?;
    if matches!(view, StageView::End { .. }) {
        return Ok(());
    }
    page.finish(stage, vec![answer()]).await?;
    page.await_stage(|view| matches!(view, StageView::End { .. })).await?;
    Ok(())
}
