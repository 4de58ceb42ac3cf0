//! A session and its first request, which go out together.

use std::time::Duration;

use conclave_client::{BootTime, Client, Etcd, EtcdOptions};
use conclave_etcd_api::kv_client::KvClient;
use conclave_etcd_api::{PutRequest, RequestOp, TxnRequest, request_op};
use conclave_testkit::proxy::{Direction, Proxy};
use conclave_testkit::servers::{self, EtcdCluster};
use tonic::Code;
use tonic::transport::Endpoint;

use super::{keys, soon};

/// The first server does as it is told, and its answers are lost. So there is a session that nobody
/// knows of, and most often a place in the queue ahead of our own.
#[tokio::test]
async fn a_session_whose_opening_nobody_answered_is_given_back() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let direct = cluster.endpoints().remove(0);
    let proxy = Proxy::to(&direct[..]);
    proxy.freeze(Direction::ToClient);
    let asked = BootTime::now();
    let askers = ["x", "y", "z"].map(|name| {
        let mut options = EtcdOptions::new([proxy.address().to_string(), direct.clone()]);
        options.ttl = Duration::from_secs(10);
        let client = Client::new(Etcd::new(options).unwrap());
        tokio::spawn(async move {
            let guard = client.lock(name).await;
            (name, client, guard)
        })
    });
    for asker in askers {
        let (name, _client, guard) = soon(asker).await.unwrap();
        assert!(!asked.plus(Duration::from_secs(9)).is_past(), "not because the first has lapsed");
        assert_eq!(keys(&cluster, &format!("{name}/")).len(), 1);
        soon(guard.unwrap().release()).await.unwrap();
    }
}

/// What is sent together may arrive in any order.
#[tokio::test]
async fn a_request_with_a_lease_that_is_not_there_is_refused_and_does_nothing() {
    let Some(binaries) = servers::required() else { return };
    let cluster = EtcdCluster::start(&binaries, 1);
    let address = format!("http://{}", cluster.endpoints()[0]);
    let channel = Endpoint::from_shared(address).unwrap().connect().await.unwrap();
    let mut client = KvClient::new(channel);
    let put = PutRequest { key: b"x/1".to_vec(), lease: 4711, ..PutRequest::default() };
    let put = RequestOp { request: Some(request_op::Request::RequestPut(put)) };
    let txn = TxnRequest { success: vec![put], ..TxnRequest::default() };
    assert_eq!(client.txn(txn).await.unwrap_err().code(), Code::NotFound);
    assert_eq!(keys(&cluster, "x/"), Vec::<String>::new());
}
