/* SPDX-License-Identifier: Apache-2.0
 *
 * atomic - accesses to memory that another thread or process changes, with the
 * ordering in the name: rlx (relaxed), acq (acquire), rel (release), sc
 * (sequentially consistent). Only this file may say __ATOMIC_*.
 *
 * Every ordered access has a comment "order: KIND, ROW: guarantee", where ROW
 * is a row of docs/RING.md. Every relaxed access has a comment that says why
 * relaxed suffices. scripts/check-atomics.awk rejects an access without such a
 * comment. There are no fences: ThreadSanitizer does not model them, and an
 * ordered access names the word that it orders.
 */
#ifndef PERFREC_SHARED_ATOMIC_H
#define PERFREC_SHARED_ATOMIC_H

#define atom_load_rlx(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define atom_load_acq(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define atom_load_sc(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define atom_store_rlx(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define atom_store_rel(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define atom_store_sc(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define atom_add_rlx(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define atom_add_sc(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define atom_or_rlx(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define atom_or_sc(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define atom_xchg_sc(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

/* Compare and swap: true when *@p was @old and is now @new. */
#define atom_cas_sc(p, old, new)                                       \
	({                                                             \
		__typeof__(*(p)) expected_ = (old);                    \
		__atomic_compare_exchange_n((p), &expected_, (new), 0, \
					    __ATOMIC_SEQ_CST,          \
					    __ATOMIC_RELAXED);         \
	})

#endif
