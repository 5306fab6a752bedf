//! Rows of the database for an episode that a test writes itself.

use protocol::Era;
use protocol::log::Header;
use store::{NewEpisode, NewSession, StoredPosition, StudyStore};

/// Makes the sessions of the people of an episode, and its own row, in the data folder `home`.
pub(crate) async fn write_rows(home: &std::path::Path, header: &Header) {
    let store = StudyStore::open(home).await.unwrap();
    let people = header.participants.iter().filter(|name| !name.is_empty());
    for (number, participant) in people.enumerate() {
        let session = NewSession {
            number,
            participant: participant.clone(),
            token: participant.clone(),
            link: None,
            study: header.study.clone(),
            study_version: header.study_version.clone(),
            study_hash: header.study_hash.clone(),
            identity: None,
            place: StoredPosition::default(),
        };
        store.create_session(&session).await.unwrap();
    }
    let episode = NewEpisode {
        id: header.episode.clone(),
        era: Era(1),
        group: header.group.clone(),
        stage: header.stage.clone(),
        path: format!("{}/{}.coplay", archive::FOLDER, header.episode),
        participants: header.participants.clone(),
        visits: vec![1; header.participants.len()],
        draw: "{}".into(),
        bindings: "{}".into(),
    };
    store.create_episode(&episode).await.unwrap();
    store.close().await;
}
