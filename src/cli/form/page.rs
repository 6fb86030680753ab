//! The page of a form's preview: one file, no script, nothing loaded from elsewhere.

use super::{Shown, Sight, WaySeen};

const STYLE: &str = "body{font:16px/1.45 system-ui,sans-serif;margin:0 auto;padding:24px;max-width:1200px;\
background:#f4f4f2;color:#1c1c1c}h1{font-size:24px}h2{font-size:19px;margin-top:36px}\
.screens{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:20px;align-items:start}\
figure{margin:0}figcaption{font-size:14px;color:#595959;margin-bottom:6px;overflow-wrap:anywhere}\
.said{background:#fff;border:1px solid #dcdcd8;border-radius:12px;padding:10px 14px;white-space:pre-wrap;\
overflow-wrap:anywhere;margin-bottom:6px}.row{display:flex;gap:6px;margin-bottom:6px}\
.row span{flex:1;text-align:center;border:1px solid #2a6f97;color:#1d5474;background:#fff;border-radius:8px;\
padding:6px 8px;overflow-wrap:anywhere}li{margin-bottom:8px;overflow-wrap:anywhere}code{font-size:14px}\
@media(prefers-color-scheme:dark){body{background:#17181a;color:#ececec}.said,.row span{background:#232528;\
border-color:#3f4347}.row span{color:#9fd0ee}figcaption{color:#a9adb2}}";

/// The whole page.
pub(super) fn html(sight: &Sight) -> String {
    let title = escaped(&sight.title);
    let mut out = format!(
        "<!doctype html><html lang=\"{}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title><style>{STYLE}</style></head><body>\
         <h1>{title}</h1><p><code>{}</code>, version <code>{}</code></p>",
        escaped(&sight.lang),
        escaped(&sight.id),
        escaped(&sight.version)
    );
    out.push_str("<h2>Screens</h2><div class=\"screens\">");
    for (number, screen) in sight.screens.iter().enumerate() {
        out.push_str(&figure(&caption(number + 1, screen), &screen.text, &screen.buttons));
    }
    let more = if sight.ways_complete { "" } else { " and more" };
    out.push_str(&format!("</div><h2>Ways through it: {}{more}</h2><ol>", sight.ways.len()));
    for way in &sight.ways {
        out.push_str(&format!("<li>{}{} → summary</li>", escaped(&decided(way)), escaped(&way.asked.join(" → "))));
    }
    out.push_str("</ol><h2>Summaries, with sample answers</h2><div class=\"screens\">");
    for (number, way) in sight.ways.iter().enumerate() {
        let caption = format!("{}. {}", number + 1, decided(way).trim_end_matches(": "));
        out.push_str(&figure(&caption, &way.summary, &way.buttons));
    }
    let (subject, body) = (escaped(&sight.ticket.subject), escaped(&sight.ticket.body));
    out.push_str(&format!("</div><h2>The ticket of the first</h2><p>{subject}</p><div class=\"said\">{body}</div>"));
    out.push_str("</body></html>\n");
    out
}

fn caption(number: usize, screen: &Shown) -> String {
    let optional = if screen.optional { ", optional" } else { "" };
    let when = screen.when.as_ref().map(|when| format!(", asked when {when}")).unwrap_or_default();
    let never = if screen.reached { "" } else { ", never reached" };
    format!("{number}. {} ({}{optional}{when}{never})", screen.field, screen.kind)
}

fn decided(way: &WaySeen) -> String {
    let parts: Vec<_> = way.decided_by.iter().map(|(id, answer)| format!("{id} = {answer}")).collect();
    if parts.is_empty() { String::new() } else { format!("{}: ", parts.join(", ")) }
}

fn figure(caption: &str, texts: &[String], rows: &[Vec<String>]) -> String {
    let mut out = format!("<figure><figcaption>{}</figcaption>", escaped(caption));
    for text in texts {
        out.push_str(&format!("<div class=\"said\">{}</div>", escaped(text)));
    }
    for row in rows {
        let buttons: String = row.iter().map(|label| format!("<span>{}</span>", escaped(label))).collect();
        out.push_str(&format!("<div class=\"row\">{buttons}</div>"));
    }
    out.push_str("</figure>");
    out
}

/// A form's words are an operator's, but they need not be HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
