"""The EVM anchor against a real node (anvil), and what its record proves offline."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from beforehand.anchors.anchor import CHECKS, COMPLETE, PENDING, REFUSED, UNCHECKED, Subject
from beforehand.anchors.evm import EvmChain, address_of, read_key
from beforehand.anchors.evm_block import included, inclusion_nodes, keccak
from beforehand.anchors.evm_check import needed_block
from beforehand.anchors.evm_node import EvmNode, RefusedCallError, read_block
from beforehand.anchors.evm_record import EvmRecord
from beforehand.anchors.lone import check_bytes
from beforehand.anchors.trust import EvmTrust, Trust
from beforehand.book.checkpoint import Checkpoint
from beforehand.book.stamped_list import ListedBook, StampedList
from beforehand.clock import instant_key
from beforehand.errors import FormatError, IntegrityError, RemoteError, RuleError
from beforehand.testing.anchor_contract import check_anchor
from beforehand.testing.local_evm import LocalEvm, find_anvil
from beforehand.testing.served import Asked, Served, Told

pytestmark = pytest.mark.skipif(not find_anvil(), reason="anvil is not installed")

NOTE = b"a stamped text\n"
SUBJECT = Subject.of_bytes(NOTE)
LATER = "2100-01-01T00:00:00Z"


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[LocalEvm]:
    with LocalEvm(tmp_path / "evm") as chain:
        yield chain


def anchor_on(chain: LocalEvm) -> EvmChain:
    return EvmChain(chain.node, chain.chain, chain.key, deep_enough=3)


def trust_in(chain: LocalEvm, most: int = 20) -> Trust:
    """Every block's hash by the node itself."""
    blocks = {}
    for number in range(most):
        block = chain.node.block(number)
        if block is not None:
            blocks[chain.chain, number] = block.header.hash
    return Trust(evm=EvmTrust(blocks, development=True))


def recorded(chain: LocalEvm) -> bytes:
    anchor = anchor_on(chain)
    promise = anchor.submit(NOTE)
    chain.mine(4)
    done = anchor.upgrade(promise)
    assert done.state == COMPLETE
    return done.data


def test_the_contract_of_an_anchor(chain: LocalEvm) -> None:
    held: dict[tuple[int, int], bytes] = {}
    trust = Trust(evm=EvmTrust(held, development=True))

    def ripen() -> None:
        chain.mine(4)
        held.update(trust_in(chain).evm.blocks)

    check_anchor(anchor_on(chain), trust, LATER, ripen=ripen)


def test_it_is_pending_until_its_block_lies_deep_enough(chain: LocalEvm) -> None:
    anchor = anchor_on(chain)
    promise = anchor.submit(NOTE)
    assert check_bytes(promise.data, SUBJECT, trust_in(chain), LATER).exit_code == 2
    chain.mine(1)
    assert anchor.upgrade(promise) == promise
    chain.mine(3)
    assert anchor.upgrade(promise).state == COMPLETE


def test_the_time_is_the_block_s_and_the_gaps_are_said(chain: LocalEvm) -> None:
    data = recorded(chain)
    told = check_bytes(data, SUBJECT, trust_in(chain), LATER)
    assert (told.result, told.level, told.kind) == (CHECKS, "2", "evm")
    stamp = int(chain.node.call("eth_getBlockByNumber", "0x1", False)["timestamp"], 16)
    assert told.not_after is not None
    assert instant_key(told.not_after).timestamp() == stamp + 15
    assert any("another digest" in gap for gap in told.excludes_not)


def test_one_among_several_transactions_of_a_block(chain: LocalEvm) -> None:
    anchor = anchor_on(chain)
    chain.node.call("evm_setAutomine", False)
    notes = [f"note {number}\n".encode() for number in range(20)]
    promises = [anchor.submit(note) for note in notes]
    chain.mine(5)
    trust = trust_in(chain)
    places = set()
    for note, promise in zip(notes, promises, strict=True):
        done = anchor.upgrade(promise)
        places.add(EvmRecord.parse(done.data).place)
        told = check_bytes(done.data, Subject.of_bytes(note), trust, LATER)
        assert told.result == CHECKS, told.text()
        assert check_bytes(done.data, SUBJECT, trust, LATER).result == REFUSED
    assert places == set(range(20))


def test_every_changed_byte_of_the_record_is_found(chain: LocalEvm) -> None:
    data = recorded(chain)
    record = EvmRecord.parse(data)
    trust = trust_in(chain)
    whole = record.header
    for place in range(len(whole)):
        other = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
        changed = replace(record, header=other).data()
        assert check_bytes(changed, SUBJECT, trust, LATER).result != CHECKS, place
    for number, node in enumerate(record.nodes):
        for place in range(len(node)):
            other = node[:place] + bytes([node[place] ^ 1]) + node[place + 1 :]
            nodes = (*record.nodes[:number], other, *record.nodes[number + 1 :])
            changed = replace(record, nodes=nodes).data()
            assert check_bytes(changed, SUBJECT, trust, LATER).result != CHECKS, place


def test_the_readers_list_of_blocks_decides(chain: LocalEvm) -> None:
    data = recorded(chain)
    where = needed_block(data)
    assert where == (chain.chain, 1)
    nothing = Trust(evm=EvmTrust(development=True))
    assert check_bytes(data, SUBJECT, nothing, LATER).result == UNCHECKED
    other = Trust(evm=EvmTrust({where: bytes(32)}, development=True))
    told = check_bytes(data, SUBJECT, other, LATER)
    assert told.result == REFUSED and "another hash" in told.words
    before = check_bytes(data, SUBJECT, trust_in(chain), "2020-01-01T00:00:00Z")
    assert before.result == UNCHECKED


def test_a_development_chain_proves_nothing_outside_a_rehearsal(chain: LocalEvm) -> None:
    data = recorded(chain)
    trust = Trust(evm=replace(trust_in(chain).evm, development=False))
    told = check_bytes(data, SUBJECT, trust, LATER)
    assert told.result == REFUSED and "development" in told.words


def test_a_record_said_to_be_of_another_chain_is_refused(chain: LocalEvm) -> None:
    record = EvmRecord.parse(recorded(chain))
    trust = Trust(evm=EvmTrust({(1, 1): trust_in(chain).evm.blocks[chain.chain, 1]}))
    told = check_bytes(replace(record, chain=1).data(), SUBJECT, trust, LATER)
    assert told.result == REFUSED and f"of chain {chain.chain}, not 1" in told.words


def test_a_dropped_transaction_is_sent_again_and_paid_once(chain: LocalEvm) -> None:
    anchor = anchor_on(chain)
    chain.node.call("evm_setAutomine", False)
    promise = anchor.submit(NOTE)
    name = "0x" + keccak(EvmRecord.parse(promise.data).transaction).hex()
    chain.node.call("anvil_dropTransaction", name)
    assert anchor.upgrade(promise) == promise
    assert anchor.upgrade(promise) == promise, "what the node has already is not sent twice"
    chain.mine(5)
    assert anchor.upgrade(promise).state == COMPLETE
    sent = chain.node.number("eth_getTransactionCount", address_of(chain.key), "latest")
    assert sent == 1


def test_a_block_that_was_reorganised_away_is_refused_by_the_chain_s_own_list(
    chain: LocalEvm,
) -> None:
    snapshot = chain.node.call("evm_snapshot")
    data = recorded(chain)
    assert check_bytes(data, SUBJECT, trust_in(chain), LATER).result == CHECKS
    chain.node.call("evm_revert", snapshot)
    chain.node.call("evm_increaseTime", 60)
    chain.mine(6)
    told = check_bytes(data, SUBJECT, trust_in(chain), LATER)
    assert told.result == REFUSED and "another hash" in told.words


def test_the_root_of_a_stamped_list_stands_in_the_transaction(chain: LocalEvm) -> None:
    root = hashlib.sha256(b"tree").digest()
    listed = StampedList(
        (ListedBook("api/v1/x/book.jsonl", 7, "ab" * 32, "cd" * 32),),
        (Checkpoint("league.example/x", 7, root),),
    ).data()
    anchor = anchor_on(chain)
    promise = anchor.submit(listed)
    chain.mine(4)
    data = anchor.upgrade(promise).data
    told = check_bytes(data, Subject.of_bytes(listed), trust_in(chain), LATER)
    assert told.result == CHECKS and any(root.hex() in note for note in told.notes)


def test_an_account_without_money_says_so(chain: LocalEvm) -> None:
    poor = EvmChain(chain.node, chain.chain, hashlib.sha256(b"nobody").digest())
    with pytest.raises(RefusedCallError, match=r"[Ii]nsufficient funds"):
        poor.submit(NOTE)


def test_a_dear_chain_is_waited_for(chain: LocalEvm) -> None:
    chain.node.call("anvil_setNextBlockBaseFeePerGas", hex(10**12))
    chain.mine(1)
    with pytest.raises(RemoteError, match="wei") as caught:
        anchor_on(chain).submit(NOTE)
    assert caught.value.retryable


def test_another_chain_than_the_settings_say_is_not_paid_on(chain: LocalEvm) -> None:
    with pytest.raises(RuleError, match=f"of chain {chain.chain}, the settings say 1"):
        EvmChain(chain.node, 1, chain.key).submit(NOTE)


def test_a_header_whose_fields_do_not_give_its_hash_is_not_taken(chain: LocalEvm) -> None:
    said = chain.node.call("eth_getBlockByNumber", "0x0", False)
    assert read_block(said).header.hash.hex() == said["hash"][2:]
    with pytest.raises(RemoteError, match="do not give its hash"):
        read_block({**said, "gasUsed": "0x1"})


def test_a_node_that_is_away_or_answers_junk_is_a_remote_error_without_its_key() -> None:
    away = EvmNode("http://127.0.0.1:9/v3/secret-key", seconds=2)
    with pytest.raises(RemoteError) as caught:
        away.number("eth_chainId")
    assert "secret-key" not in str(caught.value)
    answers = [b"<html>", b"[]", b'{"result": "12"}', b'{"error": "x"}', b'{"result": "0x01"}']

    def junk(asked: Asked) -> Told:
        return Told(200, answers[0])

    with Served(junk) as served:
        node = EvmNode(served.url + "/secret-key")
        while answers:
            with pytest.raises(RemoteError) as caught:
                node.number("eth_chainId")
            assert "secret-key" not in str(caught.value)
            answers.pop(0)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "git"},
        {"chain": -1},
        {"chain": True},
        {"chain": "1"},
        {"place": 1.5},
        {"nodes": ["0x0"]},
        {"nodes": "0x"},
        {"nodes": ["0x"] * 65},
        {"header": "0xzz"},
        {"header": "0xc0"},
        {"more": 1},
    ],
)
def test_a_record_of_another_form_could_not_be_checked(
    chain: LocalEvm, change: dict[str, object]
) -> None:
    said = {**json.loads(recorded(chain)), **change}
    told = check_bytes(json.dumps(said).encode(), SUBJECT, trust_in(chain), LATER)
    assert told.result == UNCHECKED, told.text()


def test_nodes_that_lead_elsewhere_are_refused(chain: LocalEvm) -> None:
    record = EvmRecord.parse(recorded(chain))
    trust = trust_in(chain)
    for other in (replace(record, place=1), replace(record, nodes=()), replace(record, place=200)):
        told = check_bytes(other.data(), SUBJECT, trust, LATER)
        assert told.result == REFUSED, told.text()


def test_the_trie_of_many_transactions_leads_to_each() -> None:
    many = [bytes([2]) + bytes([number % 256]) * (number + 1) for number in range(300)]
    for place in (0, 1, 127, 128, 255, 256, 299):
        root, nodes = inclusion_nodes(many, place)
        assert included(root, place, nodes) == many[place]
        with pytest.raises(IntegrityError):
            included(root, place + 300, nodes)
        with pytest.raises(IntegrityError):
            included(bytes(32), place, nodes)


def test_keccak_is_the_chain_s_and_not_sha3() -> None:
    # Ethereum yellow paper: KEC(()) as the code hash of an account without code.
    empty = "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
    assert keccak(b"").hex() == empty


def test_a_key_is_32_bytes_in_hex_and_stands_in_no_message(chain: LocalEvm) -> None:
    assert read_key("0x" + chain.key.hex()) == chain.key
    for text in ("", "0x12", "zz" * 32, "00" * 32):
        with pytest.raises(RuleError) as caught:
            read_key(text)
        assert text == "" or text not in str(caught.value)
    assert chain.key.hex() not in repr(anchor_on(chain))


def test_signing_leaves_the_interpreter_s_recursion_limit_as_it_was(chain: LocalEvm) -> None:
    limit = sys.getrecursionlimit()
    anchor_on(chain).submit(NOTE)
    assert "py_ecc" in sys.modules and sys.getrecursionlimit() == limit
    with pytest.raises(FormatError):
        EvmRecord.parse(b"[" * 200_000)


def test_a_pending_record_names_no_block(chain: LocalEvm) -> None:
    promise = anchor_on(chain).submit(NOTE)
    assert promise.state == PENDING
    assert needed_block(promise.data) is None
    with pytest.raises(FormatError):
        needed_block(b"{}")
