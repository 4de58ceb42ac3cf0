//! Requests to the store, and what is read from answers.

use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RequestOp, TxnRequest,
    TxnResponse, compare, request_op, response_op,
};

use super::Core;
use super::keys::Range;
use super::servers::{Answered, Failed, Link};
use crate::BootTime;

impl Core {
    /// One transaction, sent again until there is an answer.
    pub async fn txn(
        &self,
        limit: Option<BootTime>,
        txn: TxnRequest,
    ) -> Result<Answered<TxnResponse>, Failed> {
        let call = async |link: Link| {
            let mut client = KvClient::new(link.channel.clone());
            client = client.max_decoding_message_size(usize::MAX);
            let answer = client.txn(link.request(txn.clone())).await;
            answer.map(tonic::Response::into_inner).map_err(|status| self.servers.judge(&status))
        };
        self.servers.call(limit, call).await
    }
}

/// What the range that was the `index`th operation has found.
pub fn found(answer: &TxnResponse, index: usize) -> &[KeyValue] {
    match answer.responses.get(index).and_then(|it| it.response.as_ref()) {
        Some(response_op::Response::ResponseRange(answer)) => &answer.kvs,
        _ => &[],
    }
}

pub fn put(key: &[u8], value: Vec<u8>, lease: i64) -> RequestOp {
    operation(request_op::Request::RequestPut(PutRequest {
        key: key.to_vec(),
        value,
        lease,
        ..PutRequest::default()
    }))
}

pub fn delete(key: &[u8]) -> RequestOp {
    let delete = DeleteRangeRequest { key: key.to_vec(), ..DeleteRangeRequest::default() };
    operation(request_op::Request::RequestDeleteRange(delete))
}

pub fn range(keys: &Range, how: impl FnOnce(&mut RangeRequest)) -> RequestOp {
    let (key, range_end) = (keys.start.clone(), keys.end.clone());
    let mut range = RangeRequest { key, range_end, ..RangeRequest::default() };
    how(&mut range);
    operation(request_op::Request::RequestRange(range))
}

pub fn range_of_key(key: &[u8]) -> RequestOp {
    let range = RangeRequest { key: key.to_vec(), ..RangeRequest::default() };
    operation(request_op::Request::RequestRange(range))
}

pub fn operation(request: request_op::Request) -> RequestOp {
    RequestOp { request: Some(request) }
}

/// Holds if that key was created in that revision; in revision 0, if it is not there.
pub fn created_in(key: &[u8], revision: i64) -> Compare {
    Compare {
        result: compare::CompareResult::Equal.into(),
        target: compare::CompareTarget::Create.into(),
        key: key.to_vec(),
        target_union: Some(compare::TargetUnion::CreateRevision(revision)),
        range_end: Vec::new(),
    }
}

/// Holds if that key was last written in that revision.
pub fn written_in(key: &[u8], revision: i64) -> Compare {
    Compare {
        target: compare::CompareTarget::Mod.into(),
        target_union: Some(compare::TargetUnion::ModRevision(revision)),
        ..created_in(key, 0)
    }
}

/// Holds if all keys of a range were created in that revision; in revision 0, if there are none.
pub fn all_created_in(range: &Range, revision: i64) -> Compare {
    Compare { range_end: range.end.clone(), ..created_in(&range.start, revision) }
}
