//! The sentences of the page, in every language that it speaks: what each is for here, the words in a file each.

mod de;
mod en;

pub(super) use de::DE;
pub(super) use en::EN;

/// Declares the table, and lists what is in it.
macro_rules! words {
    ($($(#[$doc:meta])* $key:ident,)*) => {
        /// What the page says in one language. `{…}` stands for what is filled in.
        #[derive(Debug)]
        pub struct Words {
            $($(#[$doc])* pub $key: &'static str,)*
        }

        impl Words {
            /// Every sentence by its name.
            #[cfg(test)]
            pub(super) fn all(&self) -> Vec<(&'static str, &'static str)> {
                vec![$((stringify!($key), self.$key)),*]
            }
        }
    };
}

words! {
    /// The server has not answered since the page was opened.
    no_server,
    /// The connection was lost on a page where it is needed.
    reconnecting,
    /// The connection was lost during a match.
    saving_paused,
    /// The server refused the answers.
    not_taken,
    /// The answers to a quiz were not all right, and there is another attempt.
    quiz_again,
    /// The answers to a quiz are given for the last time.
    last_attempt,
    /// Before the address of those to write to.
    contact,
    /// The heading of the page beside a page of another site.
    other_page,
    /// The link to it.
    open_other,
    /// It gives a code.
    other_code,
    /// It leads back.
    other_link,
    /// One comes back alone.
    other_free,
    /// The field for its code.
    code_there,
    /// The button of those who give up.
    cannot,
    /// The button of those who withdraw.
    withdraw,
    /// The heading of the question before that.
    withdraw_ask,
    /// What it means.
    withdraw_means,
    /// The button of those who do not.
    withdraw_not,
    /// The heading of questions that have none.
    untitled,
    /// The button that goes a page back.
    back_a_page,
    /// The button that goes to the next page.
    next,
    /// The button that goes to the next stage.
    onward,
    /// The page can be left now, after it could not be.
    go_on_now,
    /// The button of those who agree.
    agree,
    /// The button of those who do not agree.
    disagree,
    /// A newer page of this session plays on.
    superseded,
    /// The environment is on its way here.
    loading,
    /// Ways to the others are looked for.
    linking,
    /// This page is ready, others are not.
    ready,
    /// The page may fill the screen.
    ask_fullscreen,
    /// The page does not fill the screen any more.
    fullscreen_left,
    /// The button to fill the screen.
    fullscreen,
    /// The episode is about to start.
    get_ready,
    /// The episode has ended here, and the server has not said so yet.
    finished,
    /// The next stage is on its way here.
    one_moment,
    /// The world waits for what only the server can say.
    waiting_for_server,
    /// The world waits for several people who are all there.
    waiting_for_others,
    /// The heading of a lobby.
    lobby,
    /// The server has not yet said who is in the lobby.
    looking,
    /// Answers whether somebody is there.
    i_am_here,
    /// Goes back to the lobby.
    come_back,
    /// The title of a page out of sight that asks something.
    asked_title,
    /// The title of a page out of sight whose partners are here.
    matched_title,
    /// Others of the group have not come to this stage yet.
    regroup,
    /// The person of this page is about to play again.
    coming_back,
    /// The person of this page plays again.
    back,
    /// The person of this page plays again; nobody did meanwhile.
    back_to_place,
    /// The person of this page plays again.
    back_from_ai,
    /// The page failed.
    broken,
    /// The environment broke down in the middle of an episode.
    stopped,
    /// The environment could not be loaded.
    no_module,
    /// The button of those who want to leave.
    leave,
    /// Asks whether somebody really wants to leave.
    leave_asked,
    /// The button of those who stay.
    go_on,
    /// A person only looks at what the work would be.
    preview,
    /// Names the completion code.
    code,
    /// The button that copies the code.
    copy,
    /// The code was copied.
    copied,
    /// The button of the next person at the same computer.
    next_person,
    /// The button of those who want to read on.
    stay,
    /// The button that hands the work in.
    submit,
    /// The number of a visit.
    receipt,
    /// What somebody is paid.
    pay,
    /// The button that leads back to whoever sent the participant.
    back_to,
    /// The page is about to lead away.
    leaving,
    /// [`Refusal::UnknownLink`](protocol::control::Refusal::UnknownLink).
    unknown_link,
    /// The link lacks what names the person.
    incomplete,
    /// The study has no room now.
    full,
    /// The page is older than the server.
    old_page,
    /// The server could not read what the page said.
    malformed,
    /// The server restarts.
    stopping,
    /// The end of an episode that was played.
    played,
    /// The end of an episode that a partner left.
    partner_left,
    /// The end of an episode that broke.
    technical,
    /// Somebody has lost their place in the lobby.
    not_waiting,
    /// Enough people wait, but they do not fit together.
    nobody_fits,
    /// One person is still needed.
    one_more,
    /// Several people are still needed.
    some_more,
    /// How long somebody has waited.
    waited,
    /// How long it usually takes, if that is short.
    few_seconds,
    /// How long it usually takes.
    lately,
    /// The place of somebody in the lobby is another's.
    place_given,
    /// The choice of what to do need not be made at once.
    still_play,
    /// Nothing happens but that somebody comes.
    wait_on,
    /// At the timeout of a lobby the next stage comes.
    then_on,
    /// At the timeout of a lobby an AI partner comes.
    then_ai,
    /// At the timeout of a lobby there is a choice.
    then_ask,
    /// At the timeout of a lobby the study ends, and the time is paid.
    then_paid,
    /// At the timeout of a lobby the study ends.
    then_end,
    /// Asks whether somebody is there.
    still_there,
    /// Somebody was asked and did not answer.
    lost_place,
    /// Asks what to do when nobody came.
    nobody_yet,
    /// The choice to wait.
    keep_waiting,
    /// The choice of an AI partner.
    play_with_ai,
    /// The choice to leave, where the time is paid.
    leave_paid,
    /// Between the last two names of a list.
    and,
    /// One of the group is not there yet.
    one_missing,
    /// Several of the group are not there yet.
    some_missing,
    /// One of the group is away.
    one_away,
    /// Several of the group are away.
    some_away,
    /// How long the others of the group are waited for.
    goes_on_by,
    /// The only other person, at the start of a sentence.
    your_partner,
    /// The only other person, within a sentence.
    partner_within,
    /// One of several other people.
    player,
    /// The receipt of those who withdrew.
    withdrawn,
    /// The page can be left in a while.
    go_on_in,
    /// Which attempt at a quiz this is.
    attempt,
    /// Somebody's page is out of sight.
    looked_away,
    /// Somebody's page is gone.
    gone,
    /// Somebody's page is gone, and the world goes on.
    gone_play_on,
    /// An AI partner has somebody's seat.
    replaced,
    /// Somebody is about to play again.
    returning,
    /// Somebody plays again.
    is_back,
    /// The world waits for somebody who is there and heard.
    waiting_for,
    /// The world waits for somebody who is there and not heard.
    not_heard,
    /// The world waits for somebody whose page is out of sight.
    held_hidden,
    /// The world waits for somebody whose page is gone.
    held_gone,
    /// How a round ended, during a rest.
    round_over,
    /// The button that ends a rest.
    next_round,
    /// A rest ends by itself.
    round_in,
    /// Names the number of the round.
    round,
    /// Which round it is.
    round_of,
    /// Names the score.
    score,
    /// Names the time left.
    time,
    /// A partner, beside the picture.
    partner,
    /// An AI partner, beside the picture.
    partner_ai,
    /// Packets travel straight to the partner.
    direct,
    /// Packets travel through the server.
    via_server,
    /// Nothing comes from the partner.
    partner_lost,
    /// The page has not been let in yet.
    connecting,
    /// The heading of a page that is there for a moment.
    moment,
    /// The heading of a page whose study goes on elsewhere.
    elsewhere,
    /// The button that takes the study back.
    play_here,
    /// The heading of a page that is refused.
    cannot_go_on,
    /// The button that loads the page again.
    reload,
    /// The next episode is on its way.
    preparing,
    /// Names the buttons to touch.
    controls,
    /// How far one is.
    progress_of,
    /// Names the other languages.
    languages,
    /// A question must be answered.
    required,
    /// An answer.
    yes,
    /// An answer.
    no,
    /// A matrix has rows without an answer.
    answer_rows,
    /// A question has no answer.
    answer_this,
    /// A number is asked.
    write_number,
    /// An address is asked.
    write_email,
    /// The world stands still until the person acts.
    your_move,
    /// The heading of a page in a frame of another site.
    frame,
    /// Why it opens one.
    frame_why,
    /// The button that opens it.
    frame_open,
    /// The button of those who want no other window.
    frame_here,
    /// The heading while it is open.
    frame_opened,
    /// What happens then.
    frame_waits,
    /// The button of those who closed it.
    frame_back,
    /// Said at the end in the window, whose work is handed in by the frame.
    frame_hands_in,
}
