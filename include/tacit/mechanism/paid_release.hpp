// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/noised_sign.hpp>
#include <tacit/info/sign_channel.hpp>
#include <tacit/pac/posterior.hpp>
#include <tacit/pac/record_groups.hpp>
#include <tacit/pac/record_ledger.hpp>
#include <tacit/pac/value_exposure.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/normal.hpp>
#include <tacit/secret/stream.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

/// Charge, then draw, then learn: the three moves of a released sign, tied together by types.
///
///   paid<Channel> paid = pay(ledger, channel);           // the charge, before anything exists
///   auto drawn = draw(std::move(paid), truth, secret);   // the release, once
///   observe(belief, signs, drawn);                       // what the world now believes
///
/// A channel that was paid for as a *sign* draws a sign and nothing else. So the one unsound pairing
/// (the sign's charge with the value's posterior: with σ = 1, two steps tell .398 nats and are charged
/// .374) cannot be written: there is no value to observe.

namespace tacit {

/// A channel whose one use has been charged. Only `pay` makes one.
template <class Channel>
class [[nodiscard]] paid {
 public:
  [[nodiscard]] Channel const& channel() const noexcept { return channel_; }
  [[nodiscard]] nats cost() const noexcept { return receipt_.cost(); }

  /// Uses up the payment.
  /// @throws std::logic_error if it was used or moved from before
  [[nodiscard]] Channel redeem() && {
    receipt<nats> const used(std::move(receipt_));
    if (!used.live()) throw std::logic_error("draw: the receipt was used before");
    return channel_;
  }

 private:
  paid(Channel const& channel, receipt<nats>&& proof)
      : channel_(channel), receipt_(std::move(proof)) {}

  template <class AnyChannel>
  friend paid<AnyChannel> pay(ledger<nats>& account, AnyChannel const& channel, double inflation);
  friend paid<sign_channel> pay(record_ledger& account, sign_channel const& channel,
                                record_exposure const& exposure);
  friend paid<binary_channel> pay(record_ledger& account, binary_channel const& channel,
                                  value_exposure const& exposure);
  template <class AnyChannel>
  friend paid<AnyChannel> pay(record_ledger& account, AnyChannel const& channel,
                              group_exposure const& exposure);

  Channel channel_;
  receipt<nats> receipt_;
};

/// Charges I(S;Y) of the channel, an upper bound, times `inflation` ≥ 1 for what is not certain about
/// its prior.
/// @throws budget_exhausted if it does not fit; nothing is charged then
template <class Channel>
[[nodiscard]] paid<Channel> pay(ledger<nats>& account, Channel const& channel,
                                double inflation = 1.0) {
  detail::require_domain(inflation >= 1.0, "pay", "inflation", inflation, "at least 1");
  return paid<Channel>(channel,
                       account.charge(nats(information_charge(channel).value * inflation)));
}

/// Charges every record what the released sign reveals about its membership.
/// @throws budget_exhausted if any record cannot pay; nothing is charged then
[[nodiscard]] inline paid<sign_channel> pay(record_ledger& account, sign_channel const& channel,
                                            record_exposure const& exposure) {
  std::vector<double> costs(exposure.records());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    costs[i] = exposure.information(i, channel.noise);
  }
  return paid<sign_channel>(channel, account.charge(costs));
}

/// Charges every record what the noised value reveals about its membership.
/// @throws budget_exhausted if any record cannot pay; nothing is charged then
[[nodiscard]] inline paid<binary_channel> pay(record_ledger& account, binary_channel const& channel,
                                              value_exposure const& exposure) {
  noised_sign const seen = exposure.through(channel.sigma);
  std::vector<double> costs(exposure.records());
  for (std::size_t i = 0; i < costs.size(); ++i) costs[i] = exposure.information(i, seen);
  return paid<binary_channel>(channel, account.charge(costs));
}

/// Charges every group what the release reveals about its records' memberships together.
/// @throws budget_exhausted if any group cannot pay; nothing is charged then
template <class Channel>
[[nodiscard]] paid<Channel> pay(record_ledger& account, Channel const& channel,
                                group_exposure const& exposure) {
  std::vector<double> costs(exposure.groups());
  for (std::size_t g = 0; g < costs.size(); ++g) {
    if constexpr (std::same_as<Channel, sign_channel>) {
      costs[g] = exposure.information(g, channel.noise);
    } else {
      costs[g] = exposure.information(g, channel.sigma);
    }
  }
  return paid<Channel>(channel, account.charge(costs));
}

struct drawn_sign {
  sign released;
  flip noise;
};

/// `value` is what the adversary is assumed to see; the world sees `released`, its sign.
struct drawn_value {
  sign released;
  double value;
  double sigma;
};

/// The truth, flipped with probability (1−ρ)/2 exactly: with the flip probability where that is the
/// exact number, else kept with probability ρ and replaced by a fair coin otherwise.
template <secret_bits Secret>
[[nodiscard]] drawn_sign draw(paid<sign_channel>&& payment, sign truth, Secret& secret) {
  flip const noise = std::move(payment).redeem().noise;
  bool const flipped = noise.correlation() <= 0.5
                           ? !bernoulli(secret, noise.correlation()) && bernoulli(secret, 0.5)
                           : bernoulli(secret, noise.probability());
  return {flipped == (truth == sign::plus) ? sign::minus : sign::plus, noise};
}

template <secret_bits Secret>
[[nodiscard]] drawn_value draw(paid<binary_channel>&& payment, sign truth, Secret& secret) {
  double const sigma = std::move(payment).redeem().sigma;
  double const signal = truth == sign::plus ? 1.0 : -1.0;
  double const value = sigma == 0.0 ? signal : signal + sigma * standard_normal(secret);
  return {value >= 0.0 ? sign::plus : sign::minus, value, sigma};
}

inline void observe(posterior& belief, std::span<std::int8_t const> signs, drawn_sign const& seen) {
  belief.observe_sign(signs, seen.released, seen.noise);
}

inline void observe(posterior& belief, std::span<std::int8_t const> signs,
                    drawn_value const& seen) {
  if (seen.sigma == 0.0) {
    belief.observe_sign(signs, seen.released, flip::with_correlation(1.0));
  } else {
    belief.observe_value(signs, seen.value, seen.sigma);
  }
}

}  // namespace tacit
