//! HTML without what could run, load from elsewhere or restyle anything.

use crate::media::FOLDER;

/// Where links may lead.
const SCHEMES: [&str; 3] = ["http", "https", "mailto"];

/// Returns whether a link is one that [`sanitise_html`] leaves.
pub(super) fn leads_somewhere(address: &str) -> bool {
    let address = address.to_ascii_lowercase();
    SCHEMES
        .iter()
        .any(|scheme| address.starts_with(&format!("{scheme}:")))
}

pub(super) fn leads_nowhere(address: &str) -> String {
    format!(
        "the link to `{address}` leads nowhere, as pages of a study are read one after the other; write a whole address, such as https://example.edu"
    )
}

/// HTML without what could run, load from elsewhere or restyle anything.
pub(crate) fn sanitise_html(html: &str) -> String {
    make_cleaner().clean(html).to_string()
}

pub(super) fn make_cleaner() -> ammonia::Builder<'static> {
    let is_media = |element: &str, attribute: &str, value: &str| match (element, attribute) {
        ("img" | "video" | "track", "src") => value.starts_with(FOLDER),
        // A link without a scheme leads to the study's own server, which has only the study.
        ("a", "href") => value.contains(':'),
        _ => true,
    };
    let mut cleaner = ammonia::Builder::default();
    cleaner
        .rm_tags(["map", "area"])
        .add_tags(["video", "track"])
        .add_tag_attributes(
            "video",
            ["src", "controls", "playsinline", "preload", "aria-label"],
        )
        .add_tag_attributes("track", ["src", "kind", "default"])
        .url_schemes(SCHEMES.into())
        .url_relative(ammonia::UrlRelative::PassThrough)
        .attribute_filter(move |element, attribute, value| {
            is_media(element, attribute, value).then(|| value.into())
        })
        .set_tag_attribute_value("a", "target", "_blank");
    cleaner
}
