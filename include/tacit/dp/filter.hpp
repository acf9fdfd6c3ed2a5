// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/filter/approximate.hpp>
#include <tacit/dp/filter/gaussian.hpp>
#include <tacit/dp/filter/gaussian_odometer.hpp>
#include <tacit/dp/filter/individual.hpp>
#include <tacit/dp/filter/odometer.hpp>
#include <tacit/dp/filter/renyi.hpp>

/// Fully adaptive composition: noise, clip and rate of a release may be chosen from what was released
/// before (and from nothing else that is private), and so may the moment to stop.
///
/// An accountant assumes a schedule that was fixed before the run. Under adaptive choices its figure at
/// the end is no guarantee. Two things are: a *filter*, which is charged before a release exists and
/// refuses what would leave a budget fixed before the run, and an *odometer*, which only reads.
///
/// Why this works at a fixed order. Let L_t be the privacy loss of the first t releases and ρ_s(α) a
/// bound on the divergence D_α of release s given the past. With z = α − 1, under P,
///   M_t = exp(z·L_t − z·Σ_{s≤t} ρ_s(α)),  M_0 = 1,
/// is a supermartingale whatever was chosen from the past, so that E M_τ ≤ 1 at every stopping time τ.
/// Averages Σ_i w_i M_t(α_i) over orders and weights fixed before the run are supermartingales as well.
///   - Where Σρ never passes B, E e^{zL} ≤ e^{zB}: the whole run has D_α ≤ B, at that one order, and is
///     (ε, δ)-DP by any conversion (Feldman & Zrnic 2021; Lécuyer 2021).
///   - In general, let ε be such that (1 − e^{ε−l})⁺ ≤ δ·Σ_i w_i e^{z_i(l−S_i)} for all losses l, with
///     S_i = Σρ(α_i). Then E_P (1 − e^{ε−L})⁺ ≤ δ at every stopping time, though S_i, and with it ε, is
///     random: the run is (ε, δ)-DP with the ε *read where it stopped*. The bound is linear in M; that
///     is what makes it uniform in time, and no further correction is due. For one order the smallest
///     such ε is S + log(z/α) − log(δα)/z, the conversion of Balle et al. and Canonne, Kamath & Steinke
///     (2020). In general it is l + log(1 − δ·Σ w_i e^{z_i(l−S_i)}) at the l where
///     δ·Σ w_i α_i e^{z_i(l−S_i)} = 1 (that function of l is concave).
///   - Gaussian releases keep Σ μ_t² ≤ μ² as a fixed schedule of them does. A ladder of such filters, each with a δ of its
///     own, is an odometer: `gaussian_odometer`.
/// With one order both of the first two hold at once, by one δ: the smaller of the budget and the reading is a reading
/// (docs/certificates/filters.md, Lemma 3).
/// "(ε, δ)-DP with ε read at the end" means: P(E) ≤ ∫_E e^ε dQ + δ for every set E of outcomes, so that
/// P(E) ≤ e^{ε₀}·Q(E) + δ for every set on which the reading was at most ε₀. (Odometers: Rogers et al.
/// 2016; linear boundaries: Whitehouse et al. 2023; the constant, and several orders, as shown here.)
/// One event is one choice: what it covers, a shuffled epoch or a matrix mechanism's whole run, is
/// chosen at its start.
///
/// What is not here, because it is wrong:
///   - Orders each with the whole δ, going on while any of them is in its budget. An adversary steers
///     one outcome to one order's worst case and another outcome to another's, and gets nearly the sum
///     of their δ: ε = 1, δ = 1e-3, orders 8 and 24 reach 1.7e-3 in two steps. So does picking the best
///     order at the end. Several orders here share one δ by their weights.
///   - Filters on privacy-loss distributions or on δ(ε), and on general trade-off functions: the
///     composition of what was spent may be in the budget on every path while the run is not
///     (arXiv 2602.06756, 2602.15815). Gaussian trade-off functions are the exception: see
///     `gaussian_filter`.
/// Mutual information in nats adds up by the chain rule under any adaptive choice: `ledger<nats>` is its
/// filter.
