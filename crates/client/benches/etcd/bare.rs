//! The calls that a lock on etcd needs, and nothing else.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use conclave_etcd_api::event::EventType;
use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::lease_client::LeaseClient;
use conclave_etcd_api::watch_client::WatchClient;
use conclave_etcd_api::{
    Compare, DeleteRangeRequest, LeaseGrantRequest, LeaseRevokeRequest, PutRequest, RangeRequest,
    RequestOp, TxnRequest, WatchCreateRequest, WatchRequest, WatchResponse, compare, range_request,
    request_op, response_op, watch_request,
};
use tokio_stream::StreamExt as _;
use tonic::Streaming;
use tonic::transport::{Channel, Endpoint};

/// How to wait.
#[derive(Clone, Copy)]
pub enum Recipe {
    /// One watch of the whole queue, which stands.
    Standing,
    /// As Go's package `concurrency` does: for the key right in front, from the past.
    Go,
}

/// A connection and a lease.
pub struct Bare {
    channel: Channel,
    lease: i64,
}

impl Bare {
    pub async fn connect(address: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
        let channel = endpoint.tcp_nodelay(true).connect().await.unwrap();
        let grant = LeaseGrantRequest { ttl: 60, id: 0 };
        let lease = LeaseClient::new(channel.clone()).lease_grant(grant).await.unwrap();
        let lease = lease.into_inner().id;
        Self { channel, lease }
    }

    /// Gives the lease back.
    pub async fn close(self) {
        let revoke = LeaseRevokeRequest { id: self.lease };
        LeaseClient::new(self.channel.clone()).lease_revoke(revoke).await.unwrap();
    }

    /// Locks and unlocks what nobody else wants.
    pub async fn pair(&self, name: &str) {
        let key = format!("{name}/{:x}", self.lease);
        assert!(self.enter(name, &key).await.1, "nobody else is there");
        self.leave(&key).await;
    }

    pub async fn take_turns(
        &self,
        recipe: Recipe,
        name: &str,
        is_over: &AtomicBool,
        count: &AtomicU64,
    ) {
        let key = format!("{name}/{:x}", self.lease);
        let mut queue = match recipe {
            Recipe::Standing => Some(Queue::watch(self, name).await),
            Recipe::Go => None,
        };
        while !is_over.load(Ordering::Relaxed) {
            let (revision, is_first) = self.enter(name, &key).await;
            if !is_first {
                match &mut queue {
                    Some(queue) => queue.wait(&key, revision).await,
                    None => self.wait_as_go_does(name, revision).await,
                }
            }
            count.fetch_add(1, Ordering::Relaxed);
            self.leave(&key).await;
        }
    }

    /// The revision that created our key, and whether it is the first.
    async fn enter(&self, name: &str, key: &str) -> (i64, bool) {
        let (start, end) = prefix(name);
        let put = PutRequest { key: key.into(), lease: self.lease, ..PutRequest::default() };
        let first = RangeRequest {
            key: start,
            range_end: end,
            limit: 1,
            sort_order: range_request::SortOrder::Ascend.into(),
            sort_target: range_request::SortTarget::Create.into(),
            ..RangeRequest::default()
        };
        let operation = |request| RequestOp { request: Some(request) };
        let txn = TxnRequest {
            compare: vec![Compare {
                result: compare::CompareResult::Equal.into(),
                target: compare::CompareTarget::Create.into(),
                key: key.into(),
                target_union: Some(compare::TargetUnion::CreateRevision(0)),
                range_end: Vec::new(),
            }],
            success: vec![
                operation(request_op::Request::RequestPut(put)),
                operation(request_op::Request::RequestRange(first)),
            ],
            failure: Vec::new(),
        };
        let answer = KvClient::new(self.channel.clone()).txn(txn).await.unwrap().into_inner();
        let Some(response_op::Response::ResponseRange(first)) = &answer.responses[1].response
        else {
            panic!("the second was a range")
        };
        (answer.header.unwrap().revision, first.kvs[0].key == key.as_bytes())
    }

    async fn leave(&self, key: &str) {
        let delete = DeleteRangeRequest { key: key.into(), ..DeleteRangeRequest::default() };
        KvClient::new(self.channel.clone()).delete_range(delete).await.unwrap();
    }

    /// Waits for the newest key that is older than ours, until there is none.
    async fn wait_as_go_does(&self, name: &str, revision: i64) {
        loop {
            let (start, end) = prefix(name);
            let before = RangeRequest {
                key: start,
                range_end: end,
                limit: 1,
                sort_order: range_request::SortOrder::Descend.into(),
                sort_target: range_request::SortTarget::Create.into(),
                max_create_revision: revision - 1,
                ..RangeRequest::default()
            };
            let found = KvClient::new(self.channel.clone()).range(before).await.unwrap();
            let found = found.into_inner();
            let Some(before) = found.kvs.first() else { return };
            let from = found.header.unwrap().revision;
            let mut events = self.watch(before.key.clone(), Vec::new(), from).await;
            while let Some(answer) = events.message().await.unwrap() {
                if answer.events.iter().any(|it| it.r#type() == EventType::Delete) {
                    break;
                }
            }
        }
    }

    async fn watch(&self, key: Vec<u8>, range_end: Vec<u8>, from: i64) -> Streaming<WatchResponse> {
        let create = WatchCreateRequest { key, range_end, start_revision: from, watch_id: 0 };
        let create = watch_request::RequestUnion::CreateRequest(create);
        let create = WatchRequest { request_union: Some(create) };
        let requests = tokio_stream::once(create).chain(tokio_stream::pending());
        let watch = WatchClient::new(self.channel.clone()).watch(requests).await.unwrap();
        watch.into_inner()
    }
}

/// Who stands there, by a watch.
struct Queue {
    events: Streaming<WatchResponse>,
    keys: BTreeMap<Vec<u8>, i64>,
}

impl Queue {
    async fn watch(bare: &Bare, name: &str) -> Self {
        let (start, end) = prefix(name);
        let mut events = bare.watch(start.clone(), end.clone(), 0).await;
        events.message().await.unwrap();
        let read = RangeRequest { key: start, range_end: end, ..RangeRequest::default() };
        let found = KvClient::new(bare.channel.clone()).range(read).await.unwrap().into_inner();
        let keys = found.kvs.into_iter().map(|it| (it.key, it.create_revision)).collect();
        Self { events, keys }
    }

    /// Returns when nobody before `revision` is there.
    async fn wait(&mut self, key: &str, revision: i64) {
        let is_there = |keys: &BTreeMap<Vec<u8>, i64>| keys.get(key.as_bytes()) == Some(&revision);
        while !is_there(&self.keys) || self.keys.values().any(|it| *it < revision) {
            let answer = self.events.message().await.unwrap().unwrap();
            for event in answer.events {
                let kind = event.r#type();
                let it = event.kv.unwrap();
                match kind {
                    EventType::Put => self.keys.insert(it.key, it.create_revision),
                    EventType::Delete => self.keys.remove(&it.key),
                };
            }
        }
    }
}

fn prefix(name: &str) -> (Vec<u8>, Vec<u8>) {
    (format!("{name}/").into_bytes(), format!("{name}0").into_bytes())
}
