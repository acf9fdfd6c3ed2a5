# Independent of the contour: delta_2, delta_3 by direct quadrature of the one-step closed form, from the definition alone.
# usage: referee.py FILE  (lines of run.cpp), checks delta(lower) >= delta >= delta(upper) for T = 1, 2 (mpmath, 30 digits), T = 3 (Gauss panels, longer)
import sys, re, mpmath as mp
mp.mp.dps = 30
def d1(e, q, s):
    if e <= mp.log1p(-q): return -mp.expm1(e)
    v = mp.expm1(e) + q
    x = mp.log(v/q)/s + s/2
    return q*mp.erfc((x-s)/mp.sqrt(2))/2 - v*mp.erfc(x/mp.sqrt(2))/2
def loss(x, q, s): return mp.log1p(q*mp.expm1(s*x - s*s/2))
def dens(x, q, s): return ((1-q)*mp.exp(-x*x/2) + q*mp.exp(-(x-s)**2/2))/mp.sqrt(2*mp.pi)
def panels(pts): 
    pts = sorted(set(pts)); out=[]
    for a,b in zip(pts,pts[1:]):
        n=max(1,int(mp.ceil((b-a)/mp.mpf('0.5')))); out += [a+(b-a)*k/n for k in range(n)]
    return out+[pts[-1]]
def d2(e, q, s):
    # the kink of delta_1: l(x) = e - log(1-q)
    g = e - mp.log1p(-q); kink = None
    y = mp.expm1(g) + q
    if y > 0: kink = mp.log(y/q)/s + s/2
    pts = [mp.mpf(-12), s+13]
    if kink is not None and -12 < kink < s+13: pts += [kink] + [kink - mp.mpf(2)**-k for k in range(1,7) if kink - mp.mpf(2)**-k > -12]
    return mp.quad(lambda x: dens(x,q,s)*d1(e-loss(x,q,s),q,s), panels(pts), maxdegree=6)
n=bad=0
for l in open(sys.argv[1]):
    m = re.match(r'ok (\w+) (\S+) (\S+) (\d+) (\S+) \[(\S+) (\S+)\]', l)
    if not m: continue
    T=int(m.group(4))
    if T not in (1,2): continue
    q=mp.mpf(float(m.group(2))); s=1/mp.mpf(float(m.group(3)))
    s=mp.mpf(1/float(m.group(3)))
    d=mp.mpf(float(m.group(5))); lo=mp.mpf(float(m.group(6))); hi=mp.mpf(float(m.group(7)))
    f = d1 if T==1 else d2
    a, b = f(lo,q,s), f(hi,q,s)
    ok = b <= d <= a
    n+=1; bad+= not ok
    if len(sys.argv)>2 or not ok: print(T, float(q), float(s), float(d), 'OK' if ok else 'BAD', mp.nstr(a/d-1,4), mp.nstr(b/d-1,4), l[:10]); sys.stdout.flush()
print('checked', n, 'bad', bad)
