// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/info/attack.hpp>
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/conversion.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/info/gauss_hermite_information.hpp>
#include <tacit/info/noised_sign.hpp>
#include <tacit/info/sign_channel.hpp>
