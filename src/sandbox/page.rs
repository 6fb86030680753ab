//! The page's files, compiled in, so that the sandbox needs nothing beside the binary.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Path, content type, content.
const FILES: [(&str, &str, &str); 11] = [
    ("/", "text/html; charset=utf-8", include_str!("../../templates/web/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../../templates/web/style.css")),
    ("/favicon.svg", "image/svg+xml", include_str!("../../templates/web/favicon.svg")),
    ("/boot.js", SCRIPT, include_str!("../../templates/web/boot.js")),
    ("/app.js", SCRIPT, include_str!("../../templates/web/app.js")),
    ("/chat.js", SCRIPT, include_str!("../../templates/web/chat.js")),
    ("/message.js", SCRIPT, include_str!("../../templates/web/message.js")),
    ("/desk.js", SCRIPT, include_str!("../../templates/web/desk.js")),
    ("/dom.js", SCRIPT, include_str!("../../templates/web/dom.js")),
    ("/net.js", SCRIPT, include_str!("../../templates/web/net.js")),
    ("/i18n.js", SCRIPT, include_str!("../../templates/web/i18n.js")),
];

/// The file of this path, if it is one of the page's.
pub(super) fn file(path: &str) -> Option<Response> {
    let (_, content_type, content) = FILES.iter().find(|(name, _, _)| *name == path)?;
    let headers = [
        (header::CONTENT_TYPE, *content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'self'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    Some((StatusCode::OK, headers, *content).into_response())
}
