//! Seats that are lost, and the time of episodes whose ticks are postponed.

use super::*;

#[tokio::test]
async fn a_seat_that_was_lost_before_the_first_tick_is_not_its_persons() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    StudyStore::open(data.path()).await.unwrap().close().await;
    let header = header([PERSON, PERSON], 40);
    let mut episode = archive::Episode::create(&dir, header).unwrap();
    let change = episode.take_seat(Seat(1), Controller::Vacant).unwrap();
    assert_eq!(change.tick, Tick(0));
    let [mut one, _] = pages(episode.header());
    let all = play_episode(episode.header());
    episode
        .append_upload(ZERO, &one.upload_part(&all, 0, 3))
        .unwrap();
    let (out, options) = (data.path().join("out"), ExportOptions::default());
    let summary = export(data.path(), &out, &options).await.unwrap();
    let seats = Cells::read(path(&summary, "seats"));
    assert_eq!(seats.column("controller"), ["human", "vacant"]);
    let steps = Cells::read(path(&summary, "steps"));
    assert_eq!(steps.column("controller")[..2], ["human", "vacant"]);
}

#[tokio::test]
async fn what_a_page_notes_of_postponed_ticks_counts_once_the_server_knows_the_end() {
    let data = tempfile::tempdir().unwrap();
    let dir = data.path().join(archive::FOLDER);
    fs::create_dir(&dir).unwrap();
    let header = header([PERSON, PERSON], 40);
    let mut episode = archive::Episode::create(&dir, header.clone()).unwrap();
    let [mut one, mut two] = pages(&header);
    let all = play_episode(&header);
    let timing = Timing {
        delays: vec![(Tick(3), 250), (Tick(6), 4_075)],
        ..Timing::default()
    };
    let noted = Upload {
        timing: Some(timing),
        ..one.upload_part(&all, 0, 8)
    };
    episode.append_upload(ZERO, &noted).unwrap();
    let other = two.upload_part(&all, 0, 8);
    episode.append_upload(Seat(1), &other).unwrap();
    let store = StudyStore::open(data.path()).await.unwrap();
    let new = NewEpisode {
        id: header.episode.clone(),
        era: protocol::Era(0),
        group: header.group.clone(),
        stage: header.stage.clone(),
        path: "episodes/e-1.coplay".into(),
        participants: vec![],
        visits: Vec::new(),
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    store.create_episode(&new).await.unwrap();
    let (out, options) = (data.path().join("out"), ExportOptions::default());
    let mut durations = Vec::new();
    for _ in 0..2 {
        let summary = export(data.path(), &out, &options).await.unwrap();
        let quality = Cells::read(path(&summary, "quality"));
        durations.push(quality.column("duration_s").join(" "));
        let ended = store.end_episode("e-1", EndReason::Technical, None, None);
        ended.await.unwrap();
    }
    // Eight ticks at four a second.
    assert_eq!(durations, ["2.0 2.0", "6.075 6.075"]);
}
