//! A lookup that leafs through the newest records, where a CRM cannot be searched by our key.

use std::sync::Arc;

use serde_json::{Value, json};
use zayavka::{
    catalog::profile::{self, built_in},
    crm::Crm,
    domain::outcome::Look,
    ids::Marker,
};

use super::{
    key,
    peer::{Act, Peer, http},
    settings, ticket,
};

fn page(ours: bool, size: usize) -> Act {
    let others = (1..=size).map(|n| json!({"id": n, "number": n.to_string(), "external_id": "other"}));
    let mut items: Vec<Value> = others.collect();
    if ours {
        items[0] = json!({"id": 77, "number": "77", "external_id": key()});
    }
    Act::Say(http("200 OK", "", &json!({ "items": items }).to_string()))
}

async fn look(pages: Vec<Act>) -> (Look, Vec<String>) {
    let peer = Peer::new(pages).await;
    let text = built_in::text("generic-searchable").expect("it ships");
    let query = "query = { external_id = \"{{ ext.uuid }}\" }";
    assert!(text.contains(query));
    let text = text
        .replace(query, "query = { page = \"{{ page }}\", skip = \"{{ offset }}\" }")
        .replace("results = \"items\"", "results = \"items\"\nscan = { pages = 3, size = 2 }");
    let (profile, _) = profile::load("crm.toml", &text).unwrap_or_else(|problems| panic!("{problems}"));
    let crm = Crm::new(Arc::new(profile), settings(&format!("http://{}", peer.address)));
    let crm = crm.unwrap_or_else(|problems| panic!("{problems}"));
    (crm.look(key(), &Marker::of(key())).await, peer.requests())
}

#[tokio::test]
async fn a_scan_ends_where_the_record_is_found() {
    let (look, asked) = look(vec![page(false, 2), page(true, 2)]).await;
    assert_eq!(look, Look::Found { tickets: vec![ticket("77")] });
    assert_eq!(asked.len(), 2);
    assert!(asked[0].starts_with("GET /tickets?page=1&skip=0 ") && asked[1].starts_with("GET /tickets?page=2&skip=2 "));
}

#[tokio::test]
async fn a_scan_misses_only_where_the_records_end() {
    assert_eq!(look(vec![page(false, 2), page(false, 1)]).await.0, Look::Missed);
    assert_eq!(look(vec![page(false, 0)]).await.0, Look::Missed);
    let (more, asked) = look(vec![page(false, 2)]).await;
    assert!(matches!(more, Look::Unsure { .. }), "there may be more: {more:?}");
    assert_eq!(asked.len(), 3);
}
