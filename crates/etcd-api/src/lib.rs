//! The few calls of etcd's API (version 3) that locks need: messages and client stubs, made from
//! `proto/rpc.proto`.
//!
//! Names and numbers are etcd's own, so that they can be looked up in its documentation.

#![expect(missing_docs, reason = "generated; etcd's documentation says what each field means")]
#![expect(
    clippy::all,
    clippy::allow_attributes_without_reason,
    unused_qualifications,
    reason = "generated"
)]

tonic::include_proto!("etcdserverpb");
