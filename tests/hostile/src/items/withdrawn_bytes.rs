//! Bytes of a withdrawn answer, in the data folder of a running server.

use std::path::Path;
use std::time::Duration;

use tokio::time::sleep;

use crate::item::{Observed, Variant};
use crate::player::Player;
use crate::study::Study;
use crate::wire::messages::{Answer, ClientMessage, Draft, ServerMessage, StageView};
use crate::world::World;

pub(crate) const NAME: &str = "withdrawn-bytes";
pub(crate) const TRIES: &str =
    "A participant withdraws, and the bytes of their answer are searched in the folder of the running server.";

pub(crate) async fn attack(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let ways = ["at the debriefing", "by leaving", "with a draft", "an episode"];
    let way = variant.choose("withdraws", &ways);
    if way == "an episode" {
        return withdraw_episode(world, variant).await;
    }
    let length = variant.choose("letters", &[40, 3_000, 9_000]);
    let secret = format!("withdrawn-{:016x}", variant.bits());
    let study = Study::questions();
    let mut study = study.then("  - {id: debrief, type: debrief, file: debrief.md, allow_withdraw: true}\n");
    if way == "by leaving" {
        // Leaving is a withdrawal only where the study says so.
        study.about.push_str("  on_leave: erase\n");
    }
    world.serve(&study, &[]).await?;
    // Somebody else is there meanwhile, and stays.
    let other = world.attacker().await?;
    let mut page = world.attacker().await?;
    let (stage, _) = page.await_stage(|_| true).await?;
    let answer = Answer {
        name: "why".to_owned(),
        value: serde_json::Value::from(format!("{secret} {}", "a".repeat(length))).to_string(),
    };
    if way == "with a draft" {
        let draft = Draft {
            answers: vec![answer],
            ..Draft::default()
        };
        page.send(&ClientMessage::Draft { number: 1, stage, draft }).await?;
        page.await_message(|message| matches!(message, ServerMessage::DraftKept { .. }).then_some(()))
            .await?;
        page.send(&ClientMessage::Leave).await?;
    } else {
        page.finish(stage, vec![answer]).await?;
        let (stage, _) = page
            .await_stage(|view| matches!(view, StageView::Debrief { .. }))
            .await?;
        match way {
            "by leaving" => page.send(&ClientMessage::Leave).await?,
            _ => {
                let withdraw = Answer {
                    name: "withdraw".to_owned(),
                    value: "true".to_owned(),
                };
                page.finish(stage, vec![withdraw]).await?;
            }
        }
    }
    let end = page.await_end(Duration::from_secs(10)).await?;
    sleep(Duration::from_secs(2)).await;
    let mut found = Vec::new();
    search(&world.data(), secret.as_bytes(), &mut found)?;
    drop((page, other));
    let seen = format!("the page is shown {end:?}; two seconds later the answer is in {found:?}");
    Ok(Observed::broken_if(!found.is_empty(), seen))
}

/// Two people play, and withdraw at the debriefing: both, or one for the group. Nobody's data are in the log any more.
async fn withdraw_episode(world: &mut World, variant: &mut Variant) -> anyhow::Result<Observed> {
    let rule = variant.choose("rule", &["erase_own", "erase_group"]);
    let debrief = "  - {id: debrief, type: debrief, file: debrief.md, allow_withdraw: true}\n";
    let mut study = Study::pair(20, 10).then(debrief);
    study.about = format!("  on_withdraw: {rule}\n");
    world.serve(&study, &[]).await?;
    let (one, other) = (world.attacker().await?, world.attacker().await?);
    let (one, other) = tokio::join!(Player::await_start(one), Player::await_start(other));
    let (mut one, mut other) = (one?, other?);
    let is_over = |player: &Player| player.ended.is_some();
    let wait = Duration::from_secs(30);
    let (first, second) = tokio::join!(one.run_until(wait, is_over), other.run_until(wait, is_over));
    first.and(second)?;
    let episode = one.plan.episode.clone();
    let log = world.log_of_episode()?;
    let mut pages = vec![one.page];
    if rule == "erase_own" {
        pages.push(other.page);
    }
    for page in &mut pages {
        // The stage was shown while the last words of the episode were heard.
        let withdraw = Answer {
            name: "withdraw".to_owned(),
            value: "true".to_owned(),
        };
        page.finish(2, vec![withdraw]).await?;
        page.await_end(Duration::from_secs(10)).await?;
    }
    sleep(Duration::from_secs(2)).await;
    let mut found = Vec::new();
    search(&world.data(), episode.as_bytes(), &mut found)?;
    let is_there = log.exists();
    drop(pages);
    world.stop().await?;
    let (is_sound, said) = world.verify().await?;
    let seen = format!(
        "two seconds later the log of the episode is there: {is_there}, and it is named in {found:?}; verify: {said}"
    );
    Ok(Observed::broken_if(is_there || !is_sound, seen))
}

/// Finds the files of a folder that hold some bytes.
fn search(folder: &Path, bytes: &[u8], found: &mut Vec<String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search(&path, bytes, found)?;
        } else if std::fs::read(&path)?.windows(bytes.len()).any(|window| window == bytes) {
            found.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
    }
    Ok(())
}
